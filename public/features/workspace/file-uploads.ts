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

export const createFileUploads = ({
  platform,
  toasts,
  sessionId,
  onArrived,
}: FileUploadsOptions) => {
  const queue = new UploadQueue<string>({
    platform,
    target: async ({ more: directory }) => ({ sessionId, ...(directory && { directory }) }),
    onArrived: ({ more: directory }) => onArrived(directory),
    onFailed({ id, name, file, error, more: directory }) {
      toasts.show(t('files.upload.failed', { name, reason: error }), { kind: 'error' })
      queue.remove(id)
      // Some of its files may be there.
      if ('send' in file) onArrived(directory)
    },
  })
  return {
    list: queue.list,
    /** Resolves when all of them are uploaded or failed. */
    add(files: Iterable<File | DroppedFolder>, directory: string): Promise<void> {
      for (const file of files) queue.add(file, directory)
      return queue.idle()
    },
    cancel(id: number): void {
      const one = queue.list.peek().find(each => each.id === id)
      queue.remove(id)
      if (one && 'send' in one.file) onArrived(one.more)
    },
  }
}
