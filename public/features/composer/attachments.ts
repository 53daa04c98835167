/** Uploads of a message's attachments: queue, progress, retry and thumbnails. */
import { computed, signal } from '@preact/signals'
import { formatBytes } from '../workspace/file-kind.ts'
import { t } from '../../strings/t.ts'
import type { Composer } from './composer.ts'
import { createLongTexts } from './long-text.ts'
import type { Upload, Uploaded, UploadOptions } from '../../upload.ts'
import type { Platform } from '../../platform.ts'

/** The server's request limit, minus the multipart overhead. */
export const MAX_UPLOAD_BYTES = 20 * 1024 * 1024 - 4096
/** The server's limit per message. */
export const MAX_ATTACHMENTS = 20

/** A dropped folder: one chip, and one name in the message. */
export type DroppedFolder = {
  name: string
  sizeBytes: number
  send: (upload: Upload, options: Omit<UploadOptions, 'file' | 'name'>) => Promise<Uploaded>
}

export type Attachment = {
  id: number
  file: File
  sentBytes: number
  state: 'uploading' | 'failed'
  error: string
  /** Blob URL of the thumbnail; null when the file is no image. */
  picture: string | null
  /** The folder that `file` stands for. */
  folder?: DroppedFolder
}
/** Details of an uploaded file. */
export type Arrived = { sizeBytes: number; picture: string | null }

export type AttachmentsOptions = {
  platform: Pick<Platform, 'upload'>
  composer: Pick<Composer, 'addFile' | 'removeFile' | 'files' | 'text' | 'edit'>
  ensureSession: () => Promise<string>
  /** Creates a `blob:` URL. */
  pictureOf?: (file: File) => string
}

const shownPicture = (file: File): string => URL.createObjectURL(file)

export const createAttachments = ({
  platform,
  composer,
  ensureSession,
  pictureOf = shownPicture,
}: AttachmentsOptions) => {
  const list = signal<readonly Attachment[]>([])
  const arrived = signal<ReadonlyMap<string, Arrived>>(new Map())
  /** Names of those that were uploaded. */
  const names = new Map<number, string>()
  const stops = new Map<number, AbortController>()
  /** Callbacks waiting for all uploads to end. */
  const waiting: (() => void)[] = []
  let last = 0
  /** Uploads run one at a time, so that the chips keep their order. */
  let line: Promise<void> = Promise.resolve()

  const busy = computed(() => list.value.some(({ state }) => state === 'uploading'))

  /** Number of attached and uploading files. */
  const count = (): number =>
    composer.files.value.length + list.value.filter(({ state }) => state === 'uploading').length
  const tooMany = (): boolean => count() >= MAX_ATTACHMENTS

  const patch = (id: number, change: Partial<Attachment>): void => {
    list.value = list.value.map(one => (one.id === id ? { ...one, ...change } : one))
    tell()
  }
  const drop = (id: number): void => {
    list.value = list.value.filter(one => one.id !== id)
    tell()
  }
  const tell = (): void => {
    if (busy.value) return
    for (const run of waiting.splice(0)) run()
  }

  const send = async ({ id, file, picture, folder }: Attachment): Promise<void> => {
    const stop = stops.get(id)
    if (!stop || stop.signal.aborted) return
    try {
      const sessionId = await ensureSession()
      const options = {
        sessionId,
        onProgress: (sentBytes: number) => patch(id, { sentBytes }),
        signal: stop.signal,
      }
      const { filename, size } = folder
        ? await folder.send(platform.upload, options)
        : await platform.upload({ ...options, file, name: file.name })
      names.set(id, filename)
      composer.addFile(filename)
      arrived.value = new Map(arrived.value).set(filename, { sizeBytes: size, picture })
      drop(id)
    } catch (error) {
      // Removed by the user; no error is shown.
      if (stop.signal.aborted) return
      patch(id, { state: 'failed', error: error instanceof Error ? error.message : `${error}` })
    } finally {
      stops.delete(id)
    }
  }

  const begin = (attachment: Attachment): void => {
    stops.set(attachment.id, new AbortController())
    line = line.then(() => send(attachment))
  }

  const add = (files: Iterable<File>): void => {
    for (const file of files) {
      last += 1
      const problem =
        file.size > MAX_UPLOAD_BYTES
          ? t('attach.large', { max: formatBytes(20_000_000) })
          : tooMany()
            ? t('attach.many', { max: `${MAX_ATTACHMENTS}` })
            : ''
      const attachment: Attachment = {
        id: last,
        file,
        sentBytes: 0,
        state: problem ? 'failed' : 'uploading',
        error: problem,
        picture: /^image\/(?!svg)/.test(file.type) ? pictureOf(file) : null,
      }
      list.value = [...list.value, attachment]
      if (!problem) begin(attachment)
    }
  }

  const addFolder = (folder: DroppedFolder): void => {
    last += 1
    const file = new File([], `${folder.name}/`)
    const isLeft = tooMany()
    const attachment: Attachment = {
      id: last,
      file,
      folder,
      sentBytes: 0,
      state: isLeft ? 'failed' : 'uploading',
      error: isLeft ? t('attach.many', { max: `${MAX_ATTACHMENTS}` }) : '',
      picture: null,
    }
    list.value = [...list.value, attachment]
    if (!isLeft) begin(attachment)
  }

  const remove = (id: number): void => {
    stops.get(id)?.abort()
    drop(id)
  }

  const longTexts = createLongTexts({
    composer,
    add(file) {
      add([file])
      return last
    },
    isAttached: id =>
      list.value.some(one => one.id === id && one.state === 'uploading') ||
      composer.files.value.includes(names.get(id) ?? ''),
    remove(id) {
      remove(id)
      const name = names.get(id)
      if (name !== undefined) composer.removeFile(name)
    },
  })

  return {
    list,
    arrived,
    busy,
    ...longTexts,
    add,
    addFolder,
    /** Retries a failed upload; files over the size limit stay failed. */
    retry(id: number): void {
      const found = list.value.find(one => one.id === id)
      if (found?.state !== 'failed' || found.file.size > MAX_UPLOAD_BYTES || tooMany()) return
      patch(id, { state: 'uploading', sentBytes: 0, error: '' })
      begin(found)
    },
    canRetry: ({ state, file }: Attachment): boolean =>
      state === 'failed' && file.size <= MAX_UPLOAD_BYTES,
    remove,
    /** Resolves when no upload is running; false when one has failed. */
    async uploadsDone(): Promise<boolean> {
      if (busy.value) await new Promise<void>(resolve => waiting.push(resolve))
      return list.value.length === 0
    },
  }
}

export type Attachments = ReturnType<typeof createAttachments>
