/** Files dropped on the tree: sent one after the other, shown with their progress until they have arrived. */
import { signal } from '@preact/signals'
import { tw } from '../strings/workspace.ts'
import type { Platform } from './platform.ts'
import type { Toasts } from './toast.ts'

export type TreeUpload = { id: number; name: string; sizeBytes: number; sentBytes: number }

export type FileUploadsOptions = {
  platform: Pick<Platform, 'upload'>
  toasts: Toasts
  sessionId: () => string
  onArrived: (directory: string) => void
}

export const createFileUploads = (options: FileUploadsOptions) => {
  const { platform, toasts, sessionId, onArrived } = options
  const list = signal<readonly TreeUpload[]>([])
  const stops = new Map<number, AbortController>()
  let last = 0
  let line: Promise<void> = Promise.resolve()

  const sendOne = async (id: number, file: File, session: string, directory: string) => {
    const stop = stops.get(id)
    if (!stop || stop.signal.aborted) return
    try {
      await platform.upload({
        sessionId: session,
        file,
        name: file.name,
        ...(directory ? { directory } : {}),
        signal: stop.signal,
        onProgress: sentBytes => {
          list.value = list.value.map(one => (one.id === id ? { ...one, sentBytes } : one))
        },
      })
      onArrived(directory)
    } catch (error) {
      const said = error instanceof Error ? error.message : `${error}`
      if (!stop.signal.aborted)
        toasts.show(tw('files.upload.failed', { name: file.name, reason: said }), { kind: 'error' })
    } finally {
      stops.delete(id)
      list.value = list.value.filter(one => one.id !== id)
    }
  }

  return {
    list,
    /** Resolves when all of them have arrived or failed. */
    add(files: Iterable<File>, directory: string): Promise<void> {
      const session = sessionId()
      for (const file of files) {
        last += 1
        const id = last
        stops.set(id, new AbortController())
        const { name, size } = file
        list.value = [...list.value, { id, name, sizeBytes: size, sentBytes: 0 }]
        line = line.then(() => sendOne(id, file, session, directory))
      }
      return line
    },
    cancel(id: number): void {
      stops.get(id)?.abort()
      list.value = list.value.filter(one => one.id !== id)
    },
  }
}

export type FileUploads = ReturnType<typeof createFileUploads>
