/** Uploads of a message's attachments, with their limits and thumbnails. */
import { signal, type ReadonlySignal } from '@preact/signals'
import { MAX_ATTACHMENTS, MAX_UPLOAD_BYTES } from '../../../lib/base/attachment-limits.ts'
import { formatBytes } from '../../parts/file-kind.ts'
import { t } from '../../strings/t.ts'
import type { Composer } from './composer.ts'
import { LongTexts } from './long-text.ts'
import type { Platform } from '../../platform.ts'
import { type DroppedFolder, type Queued, UploadQueue } from '../../upload-queue.ts'

/** An upload and the blob URL of its thumbnail; null when it is no image. */
export type Attachment = Queued<{ picture: string | null; keep?: 'chat' | undefined }>
/** Details of an uploaded file. */
export type Arrived = { sizeBytes: number; picture: string | null }

export type AttachmentsOptions = {
  platform: Platform
  composer: Composer
  ensureSession: () => Promise<string>
  /** Creates a `blob:` URL. */
  pictureOf?: (file: File) => string
}

const shownPicture = (file: File): string => URL.createObjectURL(file)

export class Attachments {
  readonly #options: AttachmentsOptions
  readonly arrived = signal<ReadonlyMap<string, Arrived>>(new Map())
  /** Names of those that were uploaded. */
  readonly #names = new Map<number, string>()
  readonly #queue
  readonly list
  readonly longTexts
  readonly busy: ReadonlySignal<boolean>

  constructor(options: AttachmentsOptions) {
    const { platform, ensureSession, composer } = options
    this.#options = options
    this.#queue = new UploadQueue<Attachment['more']>({
      platform,
      target: async ({ more: { keep } }) => ({ sessionId: await ensureSession(), keep }),
      onArrived: ({ id, more: { picture } }, { filename, size }) => {
        this.#names.set(id, filename)
        composer.addFile(filename)
        this.arrived.value = new Map(this.arrived.value).set(filename, { sizeBytes: size, picture })
      },
    })
    const { list } = this.#queue
    this.list = list
    this.longTexts = new LongTexts({
      composer,
      add: this.#add,
      isAttached: id =>
        this.list.value.some(one => one.id === id && one.state === 'uploading') ||
        composer.files.value.includes(this.#names.get(id) ?? ''),
      remove: id => {
        this.#queue.remove(id)
        const name = this.#names.get(id)
        if (name !== undefined) composer.removeFile(name)
      },
    })
    this.busy = this.#queue.isBusy
  }

  readonly #add = (file: File | DroppedFolder, isPasted = false): number => {
    const { pictureOf = shownPicture } = this.#options
    const isFolder = 'send' in file
    const isLarge = !isFolder && file.size > MAX_UPLOAD_BYTES
    const picture = isFolder || !/^image\/(?!svg)/.test(file.type) ? null : pictureOf(file)
    const many = this.#tooMany() ? t('attach.many', { max: `${MAX_ATTACHMENTS}` }) : ''
    const problem = isLarge ? t('attach.large', { max: formatBytes(MAX_UPLOAD_BYTES) }) : many
    // Nobody meant a pasted picture as a file of the workspace.
    const keep = isPasted && picture ? 'chat' : undefined
    return this.#queue.add(file, { picture, keep }, problem)
  }

  readonly add = (files: Iterable<File | DroppedFolder>, isPasted = false): void => {
    for (const file of files) this.#add(file, isPasted)
  }

  /** A file over the size limit stays failed. */
  canRetry({ state, file }: Attachment): boolean {
    return state === 'failed' && ('send' in file || file.size <= MAX_UPLOAD_BYTES)
  }

  retry(id: number): void {
    const file = this.list.value.find(one => one.id === id)
    if (file && this.canRetry(file) && !this.#tooMany()) this.#queue.retry(id)
  }

  remove(id: number): void {
    this.#queue.remove(id)
  }

  /** Resolves when no upload is running; false when one has failed. */
  async uploadsDone(): Promise<boolean> {
    await this.#queue.idle()
    return this.list.value.length === 0
  }

  #tooMany(): boolean {
    return (
      this.#options.composer.files.value.length +
        this.list.value.filter(({ state }) => state === 'uploading').length >=
      MAX_ATTACHMENTS
    )
  }
}
