/** The open file of the panel: opening and closing it, its mode and draft. One per chat. */
import { computed } from '@preact/signals'
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
  sessionId: string
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
  const { platform, sessionId, toasts, ask, onSaved, urls = browserUrls } = options
  const state = createDocState()
  const { doc, patch } = state
  const { load, readText, refresh } = createDocLoader({ sessionId, platform, state, urls })
  const saver = createDocSaver({ platform, sessionId, toasts, state, readText, onSaved })
  let workspace = ''
  let last = 0

  const close = (): void => {
    if (doc.value?.blob) urls.revoke(doc.value.blob)
    doc.value = null
  }

  const show = (target: Target): void => {
    close()
    last += 1
    const next = newDoc(last, workspace, target)
    doc.value = next
    if (!next.isAnswer) void load(next)
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
    refresh,
    open(target: Target): void {
      const now = doc.value
      const isText = target.text !== undefined
      const isSame = now?.path === target.path && now.state !== 'failed' && !now.isMoved
      if (now && !now.isAnswer && !isText && isSame) {
        const source = target.line !== null && hasSourceView(now.kind) && now.mode === 'view'
        const { line, endLine = null } = target
        doc.value = { ...now, line, endLine, mode: source ? 'source' : now.mode }
        return
      }
      unlessDirty(() => show(target))
    },
    close: (): void => unlessDirty(close),
    /** The chat works in this folder now. Unsaved edits of a file in another one are kept, but can't be saved. */
    enter(next: string): void {
      workspace = next
      const now = doc.value
      if (!now || now.isAnswer || (now.workspace === next && !now.isMoved)) return
      if (isDirty(now)) patch(now, { isMoved: now.workspace !== next })
      else show(now)
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
      else
        unlessDirty(() => {
          if (now.isMoved) show(now)
          else patch(now, { mode, draft: null, conflict: null, theirs: null })
        })
    },
    edit(draft: string): void {
      if (doc.value?.draft !== null && doc.value) doc.value = { ...doc.value, draft }
    },
    /** Follows a rename or move (`to`) or a deletion (`to` is null) in the tree. */
    moved(from: string, to: string | null): void {
      const now = doc.value
      if (!now || now.isAnswer || (now.path !== from && !now.path.startsWith(`${from}/`))) return
      if (to !== null) {
        const renamed = { ...now, path: to + now.path.slice(from.length) }
        doc.value = renamed
        // Under its old name it may not have been found.
        if (now.state === 'loading') void load(renamed)
      } else if (!isDirty(now)) close()
    },
  }
}
