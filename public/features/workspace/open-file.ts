/** The open file of the panel: opening and closing it, its mode and draft. One per chat. */
import { computed, signal } from '@preact/signals'
import type { Api } from '../../../router.ts'
import { fileName } from '../../parts/file-kind.ts'
import { createResponseOrder } from '../../parts/response-order.ts'
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
/** As much as the server sends at a time. */
const PAGE_BYTES = 200_000

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)

type TextFile = Api['GET /api/file']['output']
type FilePosition = { from: number } | { line: number }

const isWhole = ({ from = 0, to, size }: TextFile): boolean =>
  to === undefined || (from === 0 && to >= size)

export class OpenFile {
  readonly #shell: Shell
  readonly #session: { session_id: string }
  readonly #ask: (question: Confirmation) => void
  readonly #urls: BlobUrls
  readonly doc = signal<Doc | null>(null)
  readonly dirty = computed(() => isDirty(this.doc.value))
  readonly saver: DocSaver
  #workspace = ''
  readonly #pages = createResponseOrder()
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

  /** Whole, to be edited; rejects for a long file. */
  readText({ path }: Doc) {
    return this.#shell.api('GET /api/file', { ...this.#session, path })
  }

  /** A part of a long file; any other one whole. */
  #readPart({ path }: Doc, place: FilePosition) {
    return this.#shell.api('GET /api/file', { ...this.#session, path, ...place })
  }

  async #load(one: Doc): Promise<void> {
    try {
      if (isTextKind(one.kind)) await this.#loadText(one)
      else if (one.kind === 'pdf') await this.#loadPdf(one)
      else this.patch(one, { state: one.kind === 'binary' ? 'binary' : 'ready' })
    } catch (error) {
      this.#fail(one, error)
    }
  }

  async #loadText(one: Doc): Promise<void> {
    const { line, page, kind } = one
    const place = page ? { from: page.from } : line === null ? { from: 0 } : { line }
    const part = await this.#readPart(one, place)
    const { content, size, version, binary } = part
    if (binary) this.patch(one, { state: 'binary', sizeBytes: size })
    else if (isWhole(part))
      this.patch(one, {
        state: 'ready',
        content: content ?? '',
        sizeBytes: size,
        version,
        page: null,
      })
    // Not to be read as text, but an image all the same.
    else if (kind === 'svg') this.patch(one, { state: 'large', sizeBytes: size })
    else if ((kind === 'csv' || kind === 'notebook') && size <= MAX_TABLE_BYTES)
      await this.#loadWhole(one)
    else this.#showPage(one, part)
  }

  /** Shows another part of a file that is read by pages. */
  async turnPage(to: 'first' | 'previous' | 'next' | 'last'): Promise<void> {
    const now = this.doc.value
    if (!now?.page) return
    const { page } = now
    const places = {
      first: 0,
      previous: Math.max(0, page.from - PAGE_BYTES),
      next: page.to,
      last: -PAGE_BYTES / 2,
    }
    try {
      const isNewest = this.#pages('')
      const part = await this.#readPart(now, { from: places[to] })
      if (isNewest()) this.#showPage(now, part)
    } catch (error) {
      this.#shell.toasts.showError(error)
    }
  }

  /** Reloads what changed on disk. Unsaved edits are never replaced: they get a conflict instead. */
  async refresh(): Promise<void> {
    const now = this.doc.value
    if (!now || now.isAnswer || now.isMoved || now.state === 'loading' || now.saving) return
    if (isTextKind(now.kind) && now.state === 'ready' && !now.isLarge && !now.page)
      return this.#refreshText(now)
    const next = { ...now, generation: now.generation + 1 }
    if (now.blob) this.#urls.revoke(now.blob)
    this.patch(now, next)
    await this.#load(next)
  }

  #fail(one: Doc, error: unknown): void {
    // It was renamed meanwhile.
    if (this.doc.value?.path !== one.path) return
    this.patch(one, { state: 'failed', error: messageOf(error) })
  }

  async #loadPdf(one: Doc): Promise<void> {
    const query = { ...this.#session, path: one.path }
    const blob = await this.#shell.platform.fetchBlob('api/file/raw', query)
    // With a type of ours: a file that only claims to be a PDF is not run as something else.
    const url = this.#urls.create(new Blob([blob], { type: 'application/pdf' }))
    if (this.#isOpen(one)) this.patch(one, { state: 'ready', blob: url, sizeBytes: blob.size })
    else this.#urls.revoke(url)
  }

  /** Tables and notebooks are longer than other texts, and only readable as a whole. */
  async #loadWhole(one: Doc): Promise<void> {
    const query = { ...this.#session, path: one.path }
    const blob = await this.#shell.platform.fetchBlob('api/file/raw', query)
    const content = await blob.text()
    this.patch(one, { state: 'ready', mode: 'view', isLarge: true, content, sizeBytes: blob.size })
  }

  #showPage(one: Doc, { content, size, version, from = 0, to = 0, first_line }: TextFile): void {
    const page = { from, to, first: first_line ?? null }
    this.patch(one, { state: 'ready', mode: 'view', content, sizeBytes: size, version, page })
  }

  async #refreshText(now: Doc): Promise<void> {
    try {
      const part = await this.#readPart(now, { from: 0 })
      const { content, size, version, binary } = part
      const current = this.doc.value
      if (!current || !this.#isOpen(now) || current.isMoved || current.saving) return
      // What was saved or loaded meanwhile may be newer than this reply.
      if (current.version !== now.version) return this.#refreshText(current)
      if (version === current.version) return
      if (!isWhole(part) && !isDirty(current)) return this.#load(now)
      if (isDirty(current)) return this.patch(now, { conflict: version })
      const text = content ?? ''
      this.patch(now, {
        content: text,
        sizeBytes: size,
        version,
        state: binary ? 'binary' : 'ready',
        draft: current.draft === null ? null : text,
        generation: current.generation + 1,
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
      text: t('files.discard.text', { name: fileName(this.doc.value?.path ?? '') }),
      confirm: t('files.discard'),
      danger: true,
      run,
    })
  }
}
