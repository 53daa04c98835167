/** The open file of the panel: opening and closing it, its mode and draft, and one open file per session. */
import { computed, signal } from '@preact/signals'
import { nameOf } from './file-kind.ts'
import { t } from './strings.ts'
import type { Confirmation } from '../shell/layout.ts'
import type { Target } from './panel.ts'
import type { Platform } from '../../platform.ts'
import type { Toasts } from '../shell/toast.ts'
import { createDocState, type Doc, hasSourceView, isDirty, newDoc } from './document.ts'
import { type BlobUrls, createDocLoader } from './load-document.ts'
import { createDocSaver } from './save-document.ts'

export type OpenFileOptions = {
  platform: Pick<Platform, 'api' | 'fetchBlob'>
  toasts: Toasts
  ask: (question: Confirmation) => void
  onSaved?: () => void
  urls?: BlobUrls
}

const browserUrls: BlobUrls = {
  create: blob => URL.createObjectURL(blob),
  revoke: url => URL.revokeObjectURL(url),
}

export const createOpenFile = (options: OpenFileOptions) => {
  const { platform, toasts, ask, onSaved, urls = browserUrls } = options
  const state = createDocState()
  const { doc, patch } = state
  const { load, readText, refresh } = createDocLoader({ platform, state, urls })
  const saver = createDocSaver({ platform, toasts, state, readText, onSaved })
  /** Files left open in other sessions, with their drafts. */
  const others = new Map<string, Doc>()
  const sessionId = signal('')

  const close = (): void => {
    if (doc.value?.blob) urls.revoke(doc.value.blob)
    doc.value = null
  }

  /** Runs at once, or after a confirmation to discard unsaved edits. */
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

  return {
    ...saver,
    doc,
    dirty: computed(() => isDirty(doc.value)),
    /** Any session has unsaved edits. */
    isAnyDirty: (): boolean => isDirty(doc.value) || [...others.values()].some(isDirty),
    refresh,
    open(target: Target): void {
      const now = doc.value
      const isText = target.text !== undefined
      if (now && !now.isAnswer && !isText && now.path === target.path && now.state !== 'failed') {
        const source = target.line !== null && hasSourceView(now.kind) && now.mode === 'view'
        const { line, endLine = null } = target
        doc.value = { ...now, line, endLine, mode: source ? 'source' : now.mode }
        return
      }
      unlessDirty(() => {
        close()
        const next = newDoc(sessionId.value, target)
        doc.value = next
        if (!next.isAnswer) void load(next)
      })
    },
    close: (): void => unlessDirty(close),
    /** Switches to another session and to the file that was open there. */
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
      void load(now)
    },
    setRunning(isRunning: boolean): void {
      if (doc.value) doc.value = { ...doc.value, isRunning }
    },
    select(line: number | null): void {
      if (doc.value) doc.value = { ...doc.value, line, endLine: null }
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
    /** Follows a rename or move (`to`) or a deletion (`to` is null) in the tree. */
    moved(from: string, to: string | null): void {
      const now = doc.value
      if (!now || now.isAnswer || (now.path !== from && !now.path.startsWith(`${from}/`))) return
      if (to !== null) doc.value = { ...now, path: to + now.path.slice(from.length) }
      else if (!isDirty(now)) close()
    },
  }
}

export type OpenFile = ReturnType<typeof createOpenFile>
