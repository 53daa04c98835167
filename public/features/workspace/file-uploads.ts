/** The uploads of the file tree. Failures are toasts. */
import { t } from './strings.ts'
import type { Platform } from '../../platform.ts'
import { type DroppedFolder, UploadQueue } from '../../upload-queue.ts'
import type { Toasts } from '../shell/toast.ts'

export type FileUploadsOptions = {
  platform: Pick<Platform, 'upload'>
  toasts: Toasts
  sessionId: string
  onArrived: (directory: string) => void
}

export class FileUploads {
  readonly #options: FileUploadsOptions
  readonly #queue: UploadQueue<string>
  readonly list

  constructor(options: FileUploadsOptions) {
    const { platform, sessionId, onArrived, toasts } = options
    this.#options = options
    this.#queue = new UploadQueue<string>({
      platform,
      target: async ({ more: directory }) => ({ sessionId, ...(directory && { directory }) }),
      onArrived: ({ more: directory }) => onArrived(directory),
      onFailed: ({ id, name, file, error, more: directory }) => {
        toasts.show(t('files.upload.failed', { name, reason: error }), { kind: 'error' })
        this.#queue.remove(id)
        // Some of its files may be there.
        if ('send' in file) onArrived(directory)
      },
    })
    this.list = this.#queue.list
  }

  /** Resolves when all of them are uploaded or failed. */
  add(files: Iterable<File | DroppedFolder>, directory: string): Promise<void> {
    for (const file of files) this.#queue.add(file, directory)
    return this.#queue.idle()
  }

  cancel(id: number): void {
    const one = this.#queue.list.peek().find(each => each.id === id)
    this.#queue.remove(id)
    if (one && 'send' in one.file) this.#options.onArrived(one.more)
  }
}
