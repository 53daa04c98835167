/** The one file that is looked at or edited: how it is shown, what has been changed, and whether somebody else changed it. */
import { computed, signal } from '@preact/signals'
import { ApiError } from '../../api.ts'
import { type FileKind, kindOf, nameOf } from './file-kind.ts'
import { t } from './strings.ts'
import type { Confirmation } from '../shell/layout.ts'
import type { Target } from './panel.ts'
import type { Platform } from '../../platform.ts'
import type { Toasts } from '../shell/toast.ts'

export type Doc = {
  sessionId: string
  path: string
  kind: FileKind
  state: 'loading' | 'ready' | 'failed' | 'binary' | 'large'
  error: string
  content: string
  sizeBytes: number | null
  /** What the service calls the state of the file it gave us. */
  version: string
  line: number | null
  mode: 'view' | 'source' | 'edit'
  /** The text in the editor; null while nobody edits. */
  draft: string | null
  saving: boolean
  /** The file on disk is another than the one that was edited; its version. */
  conflict: string | null
  /** The text on disk, fetched to be compared with the draft. */
  theirs: string | null
  /** Counts up when the contents come anew: pictures and the editor are then made again. */
  generation: number
  /** The file as a `blob:` address, for what must not be framed by its own. */
  blob: string | null
}

const isTextKind = (kind: FileKind): boolean =>
  kind === 'text' || kind === 'markdown' || kind === 'csv' || kind === 'html'

export const isDirty = (doc: Doc | null): boolean =>
  doc !== null && doc.draft !== null && doc.draft !== doc.content

/** What was read as text although it is none would be damaged by writing it back. */
export const canEdit = (doc: Doc): boolean =>
  doc.state === 'ready' && isTextKind(doc.kind) && !doc.content.includes('\ufffd')

/** Shown as something other than its text. */
export const hasSourceView = (kind: FileKind): boolean =>
  kind === 'markdown' || kind === 'csv' || kind === 'html'

const blankDoc = (sessionId: string, { path, line }: Target): Doc => ({
  sessionId,
  path,
  line,
  kind: kindOf(path),
  state: 'loading',
  error: '',
  content: '',
  sizeBytes: null,
  version: '',
  mode: line !== null && hasSourceView(kindOf(path)) ? 'source' : 'view',
  draft: null,
  saving: false,
  conflict: null,
  theirs: null,
  generation: 0,
  blob: null,
})

export type OpenFileOptions = {
  platform: Pick<Platform, 'api' | 'fetchBlob'>
  toasts: Toasts
  ask: (question: Confirmation) => void
  onSaved?: () => void
  /** A `blob:` address, made and taken back by the browser. */
  urls?: { create: (blob: Blob) => string; revoke: (url: string) => void }
}

const browserUrls = {
  create: (blob: Blob) => URL.createObjectURL(blob),
  revoke: (url: string) => URL.revokeObjectURL(url),
}

export const createOpenFile = (options: OpenFileOptions) => {
  const { platform, toasts, ask, onSaved, urls = browserUrls } = options
  const { api, fetchBlob } = platform
  const doc = signal<Doc | null>(null)
  /** Files left open in other conversations, edited ones among them. */
  const others = new Map<string, Doc>()
  const sessionId = signal('')

  const isShown = (one: Doc): boolean =>
    doc.value?.sessionId === one.sessionId && doc.value.path === one.path

  const patch = (one: Doc, change: Partial<Doc>): void => {
    if (isShown(one) && doc.value) doc.value = { ...doc.value, ...change }
  }

  const fail = (one: Doc, error: unknown): void => {
    const said = error instanceof Error ? error.message : String(error)
    patch(one, { state: /too large/i.test(said) ? 'large' : 'failed', error: said })
  }

  const readText = async ({ sessionId: session, path }: Doc) =>
    api('GET /api/file', { session_id: session, path })

  const fetchInto = async (one: Doc): Promise<void> => {
    try {
      if (isTextKind(one.kind)) {
        const found = await readText(one)
        const { content, size, version, binary } = found
        const state = binary ? 'binary' : 'ready'
        patch(one, { state, content: content ?? '', sizeBytes: size, version })
      } else if (one.kind === 'pdf') {
        const query = { session_id: one.sessionId, path: one.path }
        const blob = await fetchBlob('api/file/raw', query)
        // Named by us: a file that only pretends to be one is not run as something else.
        const url = urls.create(new Blob([blob], { type: 'application/pdf' }))
        if (isShown(one)) patch(one, { state: 'ready', blob: url, sizeBytes: blob.size })
        else urls.revoke(url)
      } else patch(one, { state: one.kind === 'binary' ? 'binary' : 'ready' })
    } catch (error) {
      fail(one, error)
    }
  }

  const leave = (): void => {
    if (doc.value?.blob) urls.revoke(doc.value.blob)
    doc.value = null
  }

  /** Runs at once, or after the person has agreed to lose what was edited. */
  const unlessDirty = (run: () => void): void => {
    if (!isDirty(doc.value)) {
      run()
      return
    }
    ask({
      title: t('files.discard.title'),
      text: t('files.discard.text', { name: nameOf(doc.value?.path ?? '') }),
      confirm: t('files.discard'),
      danger: true,
      run,
    })
  }

  const open = (target: Target): void => {
    const now = doc.value
    if (now && now.path === target.path && now.state !== 'failed') {
      const source = target.line !== null && hasSourceView(now.kind) && now.mode === 'view'
      doc.value = { ...now, line: target.line, mode: source ? 'source' : now.mode }
      return
    }
    unlessDirty(() => {
      leave()
      const fresh = blankDoc(sessionId.value, target)
      doc.value = fresh
      void fetchInto(fresh)
    })
  }

  const save = async (version: string): Promise<void> => {
    const now = doc.value
    if (!now || now.draft === null || now.saving) return
    const { draft } = now
    patch(now, { saving: true })
    try {
      const reply = await api('POST /api/file/save', {
        session_id: now.sessionId,
        path: now.path,
        content: draft,
        expected_version: version,
      })
      const saved = { content: draft, version: reply.version, sizeBytes: reply.size }
      patch(now, { ...saved, saving: false, conflict: null, theirs: null })
      onSaved?.()
    } catch (error) {
      patch(now, { saving: false })
      const body = error instanceof ApiError && error.status === 409 ? error.body : null
      if (body?.conflict) patch(now, { conflict: `${body.version ?? ''}` })
      else toasts.showError(error)
    }
  }

  return {
    doc,
    dirty: computed(() => isDirty(doc.value)),
    /** Leaving the page would lose something. */
    isAnyDirty: (): boolean => isDirty(doc.value) || [...others.values()].some(isDirty),
    open,
    close: (): void => unlessDirty(leave),
    /** Turns to another conversation; what was open in it is open again. */
    show(session: string): void {
      if (session === sessionId.value) return
      if (doc.value) others.set(sessionId.value, doc.value)
      sessionId.value = session
      doc.value = others.get(session) ?? null
      others.delete(session)
    },
    reload(): void {
      const now = doc.value
      if (!now) return
      patch(now, { state: 'loading', error: '' })
      void fetchInto(now)
    },
    select(line: number | null): void {
      if (doc.value) doc.value = { ...doc.value, line }
    },
    setMode(mode: Doc['mode']): void {
      const now = doc.value
      if (!now) return
      if (mode === 'edit') patch(now, { mode, draft: now.draft ?? now.content })
      else unlessDirty(() => patch(now, { mode, draft: null, conflict: null, theirs: null }))
    },
    edit(draft: string): void {
      if (doc.value?.draft !== null && doc.value) doc.value = { ...doc.value, draft }
    },
    save: (): Promise<void> => save(doc.value?.version ?? ''),
    /** Writes over what somebody else wrote, and only over that. */
    overwrite: (): Promise<void> => save(doc.value?.conflict ?? ''),
    /** Takes the text on disk and drops the draft. */
    async takeTheirs(): Promise<void> {
      const now = doc.value
      if (!now) return
      try {
        const { content, size, version } = await readText(now)
        const text = content ?? ''
        patch(now, {
          ...{ content: text, draft: text, sizeBytes: size, version },
          ...{ conflict: null, theirs: null, generation: now.generation + 1 },
        })
      } catch (error) {
        toasts.showError(error)
      }
    },
    async compare(): Promise<void> {
      const now = doc.value
      if (!now) return
      if (now.theirs !== null) {
        patch(now, { theirs: null })
        return
      }
      try {
        const { content, version } = await readText(now)
        patch(now, { theirs: content ?? '', conflict: version })
      } catch (error) {
        toasts.showError(error)
      }
    },
    /** Looks whether the file is still the one that is shown; an edited one is never replaced. */
    async refresh(): Promise<void> {
      const now = doc.value
      if (!now || now.state === 'loading' || now.saving) return
      if (!isTextKind(now.kind) || now.state !== 'ready') {
        const fresh = { ...now, generation: now.generation + 1 }
        if (now.blob) urls.revoke(now.blob)
        patch(now, fresh)
        await fetchInto(fresh)
        return
      }
      try {
        const { content, size, version, binary } = await readText(now)
        const shown = doc.value
        if (!shown || !isShown(now) || version === shown.version) return
        if (isDirty(shown)) patch(now, { conflict: version })
        else {
          const text = content ?? ''
          patch(now, {
            ...{ content: text, sizeBytes: size, version, state: binary ? 'binary' : 'ready' },
            draft: shown.draft === null ? null : text,
            generation: shown.generation + 1,
          })
        }
      } catch (error) {
        // Gone, or out of reach: what is being edited stays on the page.
        if (!isDirty(doc.value)) fail(now, error)
      }
    },
    moved(from: string, to: string | null): void {
      const now = doc.value
      if (!now || (now.path !== from && !now.path.startsWith(`${from}/`))) return
      if (to !== null) doc.value = { ...now, path: to + now.path.slice(from.length) }
      else if (!isDirty(now)) leave()
    },
  }
}

export type OpenFile = ReturnType<typeof createOpenFile>
