/** The upload queue of the file tree: one upload at a time, with progress. */
import { signal } from '@preact/signals'
import { t } from './strings.ts'
import type { DroppedFolder } from '../composer/attachments.ts'
import type { Platform } from '../../platform.ts'
import type { Toasts } from '../shell/toast.ts'

export type TreeUpload = { id: number; name: string; sizeBytes: number; sentBytes: number }

export type FileUploadsOptions = {
  platform: Pick<Platform, 'upload'>
  toasts: Toasts
  sessionId: string
  onArrived: (directory: string) => void
}

export const createFileUploads = (options: FileUploadsOptions) => {
  const { platform, toasts, sessionId, onArrived } = options
  const list = signal<readonly TreeUpload[]>([])
  const stops = new Map<number, AbortController>()
  let last = 0
  let line: Promise<void> = Promise.resolve()

  const sendOne = async (
    id: number,
    { name, file, folder }: { name: string; file?: File; folder?: DroppedFolder },
    directory: string,
  ) => {
    const stop = stops.get(id)
    if (!stop || stop.signal.aborted) return
    try {
      const options = {
        sessionId,
        ...(directory ? { directory } : {}),
        signal: stop.signal,
        onProgress: (sentBytes: number) => {
          list.value = list.value.map(one => (one.id === id ? { ...one, sentBytes } : one))
        },
      }
      if (folder) await folder.send(platform.upload, options)
      else if (file) {
        await platform.upload({ ...options, file, name })
        onArrived(directory)
      }
    } catch (error) {
      const message = error instanceof Error ? error.message : `${error}`
      if (!stop.signal.aborted)
        toasts.show(t('files.upload.failed', { name, reason: message }), { kind: 'error' })
    } finally {
      // A failed folder upload may have stored some of its files.
      if (folder) onArrived(directory)
      stops.delete(id)
      list.value = list.value.filter(one => one.id !== id)
    }
  }

  const put = (
    what: { name: string; file?: File; folder?: DroppedFolder },
    sizeBytes: number,
    directory: string,
  ): void => {
    last += 1
    const id = last
    stops.set(id, new AbortController())
    list.value = [...list.value, { id, name: what.name, sizeBytes, sentBytes: 0 }]
    line = line.then(() => sendOne(id, what, directory))
  }

  return {
    list,
    /** Resolves when all of them are uploaded or failed. */
    add(files: Iterable<File>, directory: string): Promise<void> {
      for (const file of files) put({ name: file.name, file }, file.size, directory)
      return line
    },
    addFolder(folder: DroppedFolder, directory: string): Promise<void> {
      put({ name: `${folder.name}/`, folder }, folder.sizeBytes, directory)
      return line
    },
    cancel(id: number): void {
      stops.get(id)?.abort()
      list.value = list.value.filter(one => one.id !== id)
    },
  }
}
