/** The open file of the panel: opening and closing it, its mode and draft. One per chat. */
import { computed, signal } from '@preact/signals'
import { nameOf } from '../../parts/file-kind.ts'
import { t } from './strings.ts'
import type { Confirmation } from '../shell/layout.ts'
import type { Target } from '../../parts/target.ts'
import type { Shell } from '../shell/shell-state.ts'
import { type Doc, hasSourceView, isDirty, isTextKind, newDoc } from './document.ts'
import { DocSaver } from './save-document.ts'

/** Creates and releases `blob:` URLs. */
export type BlobUrls = { create: (blob: Blob) => string; revoke: (url: string) => void }

const browserUrls: BlobUrls = {
  create: blob => URL.createObjectURL(blob),
  revoke: url => URL.revokeObjectURL(url),
}

/** A table of 200,000 rows, which parses in about a second. */
const MAX_TABLE_BYTES = 10_000_000

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)
const isTooLarge = (error: unknown): boolean => /too large/i.test(messageOf(error))

export class OpenFile {
  readonly #shell: Shell
  readonly #session: { session_id: string }
  readonly #ask: (question: Confirmation) => void
  readonly #urls: BlobUrls
  readonly doc = signal<Doc | null>(null)
  readonly dirty = computed(() => isDirty(this.doc.value))
  readonly saver: DocSaver
  #workspace = ''
  #last = 0

  constructor(
    shell: Shell,
    sessionId: string,
    ask: (question: Confirmation) => void,
    onSaved: () => void = () => undefined,
    urls: BlobUrls = browserUrls,
  ) {
    this.#shell = shell
    this.#session = { session_id: sessionId }
    this.#ask = ask
    this.#urls = urls
    this.saver = new DocSaver(shell, sessionId, this, onSaved)
  }

  /** A reply that arrives after another document was opened is dropped. */
  patch(one: Doc, change: Partial<Doc>): void {
    if (this.#isOpen(one) && this.doc.value) this.doc.value = { ...this.doc.value, ...change }
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
    this.#unlessDirty(() => this.#close())
  }

  /** The chat works in this folder now. Unsaved edits of a file in another one are kept, but can't be saved. */
  enter(next: string): void {
    this.#workspace = next
    const now = this.doc.value
    if (!now || now.isAnswer || (now.workspace === next && !now.isMoved)) return
    if (isDirty(now)) this.patch(now, { isMoved: now.workspace !== next })
    else this.#show(now)
  }

  reload(): void {
    const now = this.doc.value
    if (!now) return
    this.patch(now, { state: 'loading', error: '' })
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
    if (mode === 'edit') this.patch(now, { mode, draft: now.draft ?? now.content })
    else
      this.#unlessDirty(() => {
        if (now.isMoved) this.#show(now)
        else this.patch(now, { mode, draft: null, conflict: null, theirs: null })
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

  readText({ path }: Doc) {
    return this.#shell.api('GET /api/file', { ...this.#session, path })
  }

  async #load(one: Doc): Promise<void> {
    try {
      if (isTextKind(one.kind)) {
        const { content, size, version, binary } = await this.readText(one)
        const state = binary ? 'binary' : 'ready'
        this.patch(one, { state, content: content ?? '', sizeBytes: size, version })
      } else if (one.kind === 'pdf') await this.#loadPdf(one)
      else this.patch(one, { state: one.kind === 'binary' ? 'binary' : 'ready' })
    } catch (error) {
      if (one.kind === 'csv' && isTooLarge(error))
        await this.#loadLargeTable(one).catch((reason: unknown) => this.#fail(one, reason))
      else this.#fail(one, error)
    }
  }

  /** Reloads what changed on disk. Unsaved edits are never replaced: they get a conflict instead. */
  async refresh(): Promise<void> {
    const now = this.doc.value
    if (!now || now.isAnswer || now.isMoved || now.state === 'loading' || now.saving) return
    if (isTextKind(now.kind) && now.state === 'ready' && !now.isLarge) return this.#refreshText(now)
    const next = { ...now, generation: now.generation + 1 }
    if (now.blob) this.#urls.revoke(now.blob)
    this.patch(now, next)
    await this.#load(next)
  }

  #fail(one: Doc, error: unknown): void {
    // It was renamed meanwhile.
    if (this.doc.value?.path !== one.path) return
    this.patch(one, { state: isTooLarge(error) ? 'large' : 'failed', error: messageOf(error) })
  }

  async #loadPdf(one: Doc): Promise<void> {
    const query = { ...this.#session, path: one.path }
    const blob = await this.#shell.platform.fetchBlob('api/file/raw', query)
    // With a type of ours: a file that only claims to be a PDF is not run as something else.
    const url = this.#urls.create(new Blob([blob], { type: 'application/pdf' }))
    if (this.#isOpen(one)) this.patch(one, { state: 'ready', blob: url, sizeBytes: blob.size })
    else this.#urls.revoke(url)
  }

  /** Tables are longer than other texts, and the page shows only the rows in view. */
  async #loadLargeTable(one: Doc): Promise<void> {
    const blob = await this.#shell.platform.fetchBlob('api/file/raw', {
      ...this.#session,
      path: one.path,
    })
    if (blob.size > MAX_TABLE_BYTES) throw new Error('too large')
    const content = await blob.text()
    this.patch(one, { state: 'ready', mode: 'view', isLarge: true, content, sizeBytes: blob.size })
  }

  async #refreshText(now: Doc): Promise<void> {
    try {
      const { content, size, version, binary } = await this.readText(now)
      const shown = this.doc.value
      if (!shown || !this.#isOpen(now) || shown.isMoved || shown.saving) return
      // What was saved or loaded meanwhile may be newer than this reply.
      if (shown.version !== now.version) return this.#refreshText(shown)
      if (version === shown.version) return
      if (isDirty(shown)) return this.patch(now, { conflict: version })
      const text = content ?? ''
      this.patch(now, {
        content: text,
        sizeBytes: size,
        version,
        state: binary ? 'binary' : 'ready',
        draft: shown.draft === null ? null : text,
        generation: shown.generation + 1,
      })
    } catch (error) {
      // Deleted or unreachable: unsaved edits stay on the page.
      if (!isDirty(this.doc.value)) this.#fail(now, error)
    }
  }

  #isOpen({ id }: Doc): boolean {
    return this.doc.value?.id === id
  }

  #close(): void {
    if (this.doc.value?.blob) this.#urls.revoke(this.doc.value.blob)
    this.doc.value = null
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
    this.#ask({
      title: t('files.discard.title'),
      text: t('files.discard.text', { name: nameOf(this.doc.value?.path ?? '') }),
      confirm: t('files.discard'),
      danger: true,
      run,
    })
  }
}
