/** Files and folders being uploaded: one at a time, so that they arrive in order. Those that failed stay until they are removed. */
import { computed, signal } from '@preact/signals'
import type { Upload, Uploaded, UploadOptions } from './upload.ts'

/** A dropped folder: one upload, and one name in a message. */
export type DroppedFolder = {
  name: string
  sizeBytes: number
  send: (upload: Upload, options: Omit<UploadOptions, 'file' | 'name'>) => Promise<Uploaded>
}

export type Queued<T = unknown> = {
  id: number
  name: string
  sizeBytes: number
  sentBytes: number
  state: 'uploading' | 'failed'
  error: string
  file: File | DroppedFolder
  more: T
}

export type UploadQueueOptions<T> = {
  platform: { upload: Upload }
  /** Where it goes, when its turn comes. */
  target: (one: Queued<T>) => Promise<Pick<UploadOptions, 'sessionId' | 'directory' | 'keep'>>
  onArrived: (one: Queued<T>, uploaded: Uploaded) => void
  onFailed?: (one: Queued<T>) => void
}

export class UploadQueue<T = unknown> {
  readonly list = signal<readonly Queued<T>[]>([])
  readonly isBusy = computed(() => this.list.value.some(({ state }) => state === 'uploading'))
  readonly #options: UploadQueueOptions<T>
  readonly #stops = new Map<number, AbortController>()
  #last = 0
  #line: Promise<void> = Promise.resolve()

  constructor(options: UploadQueueOptions<T>) {
    this.#options = options
  }

  /** `error`: why it is not even tried. Returns its id. */
  add(file: File | DroppedFolder, more: T, error = ''): number {
    const id = ++this.#last
    const isFolder = 'send' in file
    const one: Queued<T> = {
      ...{ id, file, more, error, sentBytes: 0 },
      name: isFolder ? `${file.name}/` : file.name,
      sizeBytes: isFolder ? file.sizeBytes : file.size,
      state: error ? 'failed' : 'uploading',
    }
    this.list.value = [...this.list.peek(), one]
    if (!error) this.#begin(one)
    return id
  }

  retry(id: number): void {
    const one = this.#patch(id, { state: 'uploading', sentBytes: 0, error: '' })
    if (one) this.#begin(one)
  }

  remove(id: number): void {
    this.#stops.get(id)?.abort()
    this.list.value = this.list.peek().filter(one => one.id !== id)
  }

  /** Resolves when nothing is being uploaded. */
  async idle(): Promise<void> {
    while (this.isBusy.peek()) await this.#line
  }

  #patch(id: number, change: Partial<Queued<T>>): Queued<T> | undefined {
    this.list.value = this.list.peek().map(one => (one.id === id ? { ...one, ...change } : one))
    return this.list.peek().find(one => one.id === id)
  }

  #begin(one: Queued<T>): void {
    const stop = new AbortController()
    this.#stops.set(one.id, stop)
    this.#line = this.#line.then(() => this.#send(one, stop.signal))
  }

  async #send(one: Queued<T>, signal: AbortSignal): Promise<void> {
    const { id, file } = one
    const { platform, target, onArrived, onFailed } = this.#options
    if (signal.aborted) return
    try {
      const options = {
        ...(await target(one)),
        signal,
        onProgress: (sentBytes: number) => void this.#patch(id, { sentBytes }),
      }
      const uploaded =
        'send' in file
          ? await file.send(platform.upload, options)
          : await platform.upload({ ...options, file, name: file.name })
      onArrived(one, uploaded)
      this.remove(id)
    } catch (error) {
      // Removed by the person: nothing is shown.
      if (signal.aborted) return
      const message = error instanceof Error ? error.message : `${error}`
      const failed = this.#patch(id, { state: 'failed', error: message })
      if (failed) onFailed?.(failed)
    } finally {
      this.#stops.delete(id)
    }
  }
}
