/** The open file of the panel: opening and closing it, its mode and draft. One per chat. */
import { computed, type Signal } from '@preact/signals'
import { nameOf } from '../../parts/file-kind.ts'
import { t } from './strings.ts'
import type { Confirmation } from '../shell/layout.ts'
import type { Target } from '../../parts/target.ts'
import type { Platform } from '../../platform.ts'
import type { Toasts } from '../shell/toast.ts'
import { DocState, type Doc, hasSourceView, isDirty, newDoc } from './document.ts'
import { type BlobUrls, DocLoader } from './load-document.ts'
import { DocSaver } from './save-document.ts'

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

export class OpenFile {
  readonly #options: OpenFileOptions
  readonly #state = new DocState()
  readonly doc: Signal<Doc | null>
  readonly #patch
  readonly #load
  readonly #readText
  readonly refresh
  readonly saver
  #workspace = ''
  #last = 0
  readonly dirty = computed(() => isDirty(this.doc.value))

  constructor(options: OpenFileOptions) {
    const { sessionId, platform, urls = browserUrls, toasts, onSaved } = options
    this.#options = options
    const { doc, patch } = this.#state
    this.doc = doc
    this.#patch = patch
    const { load, readText, refresh } = new DocLoader({
      sessionId,
      platform,
      state: this.#state,
      urls,
    })
    this.#load = load
    this.#readText = readText
    this.refresh = refresh
    this.saver = new DocSaver({
      platform,
      sessionId,
      toasts,
      state: this.#state,
      readText: this.#readText,
      onSaved,
    })
  }

  readonly #close = (): void => {
    const { urls = browserUrls } = this.#options
    if (this.doc.value?.blob) urls.revoke(this.doc.value.blob)
    this.doc.value = null
  }

  open(target: Target): void {
    const now = this.doc.value
    const isText = target.text !== undefined
    const isSame = now?.path === target.path && now.state !== 'failed' && !now.isMoved
    if (now && !now.isAnswer && !isText && isSame) {
      const source = target.line !== null && hasSourceView(now.kind) && now.mode === 'view'
      const { line, endLine = null } = target
      this.doc.value = { ...now, line, endLine, mode: source ? 'source' : now.mode }
      return
    }
    this.#unlessDirty(() => this.#show(target))
  }

  close(): void {
    this.#unlessDirty(this.#close)
  }

  /** The chat works in this folder now. Unsaved edits of a file in another one are kept, but can't be saved. */
  enter(next: string): void {
    this.#workspace = next
    const now = this.doc.value
    if (!now || now.isAnswer || (now.workspace === next && !now.isMoved)) return
    if (isDirty(now)) this.#patch(now, { isMoved: now.workspace !== next })
    else this.#show(now)
  }

  reload(): void {
    const now = this.doc.value
    if (!now) return
    this.#patch(now, { state: 'loading', error: '' })
    void this.#load(now)
  }

  setRunning(isRunning: boolean): void {
    if (this.doc.value) this.doc.value = { ...this.doc.value, isRunning }
  }

  select(line: number | null): void {
    if (this.doc.value) this.doc.value = { ...this.doc.value, line, endLine: null }
  }

  setMode(mode: Doc['mode']): void {
    const now = this.doc.value
    if (!now) return
    if (mode === 'edit') this.#patch(now, { mode, draft: now.draft ?? now.content })
    else
      this.#unlessDirty(() => {
        if (now.isMoved) this.#show(now)
        else this.#patch(now, { mode, draft: null, conflict: null, theirs: null })
      })
  }

  edit(draft: string): void {
    if (this.doc.value?.draft !== null && this.doc.value)
      this.doc.value = { ...this.doc.value, draft }
  }

  /** Follows a rename or move (`to`) or a deletion (`to` is null) in the tree. */
  moved(from: string, to: string | null): void {
    const now = this.doc.value
    if (!now || now.isAnswer || (now.path !== from && !now.path.startsWith(`${from}/`))) return
    if (to !== null) {
      const renamed = { ...now, path: to + now.path.slice(from.length) }
      this.doc.value = renamed
      // Under its old name it may not have been found.
      if (now.state === 'loading') void this.#load(renamed)
    } else if (!isDirty(now)) this.#close()
  }

  #show(target: Target): void {
    this.#close()
    this.#last += 1
    const next = newDoc(this.#last, this.#workspace, target)
    this.doc.value = next
    if (!next.isAnswer) void this.#load(next)
  }

  /** Runs at once, or after a confirmation to discard unsaved edits. */
  #unlessDirty(run: () => void): void {
    if (!isDirty(this.doc.value)) {
      run()
      return
    }
    this.#options.ask({
      title: t('files.discard.title'),
      text: t('files.discard.text', { name: nameOf(this.doc.value?.path ?? '') }),
      confirm: t('files.discard'),
      danger: true,
      run,
    })
  }
}
