/** Loading the open document, and reloading it when it changed on disk. */
import type { Platform } from '../../platform.ts'
import { type Doc, type DocState, isDirty, isTextKind } from './document.ts'

/** Creates and releases `blob:` URLs. */
export type BlobUrls = { create: (blob: Blob) => string; revoke: (url: string) => void }

export type DocLoaderOptions = {
  sessionId: string
  platform: Pick<Platform, 'api' | 'fetchBlob'>
  state: DocState
  urls: BlobUrls
}

/** A table of 200,000 rows, which parses in about a second. */
const MAX_TABLE_BYTES = 10_000_000

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)
const isTooLarge = (error: unknown): boolean => /too large/i.test(messageOf(error))

export class DocLoader {
  readonly #options: DocLoaderOptions

  constructor(options: DocLoaderOptions) {
    this.#options = options
  }

  readonly readText = ({ path }: Doc) => {
    const { api } = this.#options.platform
    const { sessionId } = this.#options
    return api('GET /api/file', { session_id: sessionId, path })
  }

  readonly load = async (one: Doc): Promise<void> => {
    const { patch } = this.#options.state
    try {
      if (isTextKind(one.kind)) {
        const { content, size, version, binary } = await this.readText(one)
        const state = binary ? 'binary' : 'ready'
        patch(one, { state, content: content ?? '', sizeBytes: size, version })
      } else if (one.kind === 'pdf') await this.#loadPdf(one)
      else patch(one, { state: one.kind === 'binary' ? 'binary' : 'ready' })
    } catch (error) {
      if (one.kind === 'csv' && isTooLarge(error))
        await this.#loadLargeTable(one).catch((reason: unknown) => this.#fail(one, reason))
      else this.#fail(one, error)
    }
  }

  /** Reloads what changed on disk. Unsaved edits are never replaced: they get a conflict instead. */
  readonly refresh = async (): Promise<void> => {
    const { doc, patch } = this.#options.state
    const { urls } = this.#options
    const now = doc.value
    if (!now || now.isAnswer || now.isMoved || now.state === 'loading' || now.saving) return
    if (isTextKind(now.kind) && now.state === 'ready' && !now.isLarge) return this.#refreshText(now)
    const next = { ...now, generation: now.generation + 1 }
    if (now.blob) urls.revoke(now.blob)
    patch(now, next)
    await this.load(next)
  }

  #fail(one: Doc, error: unknown): void {
    const { doc, patch } = this.#options.state
    // It was renamed meanwhile.
    if (doc.value?.path !== one.path) return
    patch(one, { state: isTooLarge(error) ? 'large' : 'failed', error: messageOf(error) })
  }

  async #loadPdf(one: Doc): Promise<void> {
    const { sessionId, urls } = this.#options
    const { fetchBlob } = this.#options.platform
    const { isOpen, patch } = this.#options.state
    const query = { session_id: sessionId, path: one.path }
    const blob = await fetchBlob('api/file/raw', query)
    // With a type of ours: a file that only claims to be a PDF is not run as something else.
    const url = urls.create(new Blob([blob], { type: 'application/pdf' }))
    if (isOpen(one)) patch(one, { state: 'ready', blob: url, sizeBytes: blob.size })
    else urls.revoke(url)
  }

  /** Tables are longer than other texts, and the page shows only the rows in view. */
  async #loadLargeTable(one: Doc): Promise<void> {
    const { fetchBlob } = this.#options.platform
    const { sessionId } = this.#options
    const { patch } = this.#options.state
    const blob = await fetchBlob('api/file/raw', { session_id: sessionId, path: one.path })
    if (blob.size > MAX_TABLE_BYTES) throw new Error('too large')
    const content = await blob.text()
    patch(one, { state: 'ready', mode: 'view', isLarge: true, content, sizeBytes: blob.size })
  }

  async #refreshText(now: Doc): Promise<void> {
    const { doc, isOpen, patch } = this.#options.state
    try {
      const { content, size, version, binary } = await this.readText(now)
      const shown = doc.value
      if (!shown || !isOpen(now) || shown.isMoved || shown.saving) return
      // What was saved or loaded meanwhile may be newer than this reply.
      if (shown.version !== now.version) return this.#refreshText(shown)
      if (version === shown.version) return
      if (isDirty(shown)) return patch(now, { conflict: version })
      const text = content ?? ''
      patch(now, {
        content: text,
        sizeBytes: size,
        version,
        state: binary ? 'binary' : 'ready',
        draft: shown.draft === null ? null : text,
        generation: shown.generation + 1,
      })
    } catch (error) {
      // Deleted or unreachable: unsaved edits stay on the page.
      if (!isDirty(doc.value)) this.#fail(now, error)
    }
  }
}
