/** Uploads of a message's attachments, with their limits and thumbnails. */
import { signal } from '@preact/signals'
import { formatBytes } from '../workspace/file-kind.ts'
import { t } from '../../strings/t.ts'
import type { Composer } from './composer.ts'
import { createLongTexts } from './long-text.ts'
import type { Platform } from '../../platform.ts'
import { type DroppedFolder, type Queued, UploadQueue } from '../../upload-queue.ts'

/** The server's request limit, minus the multipart overhead. */
export const MAX_UPLOAD_BYTES = 20 * 1024 * 1024 - 4096
/** The server's limit per message. */
export const MAX_ATTACHMENTS = 20

/** An upload and the blob URL of its thumbnail; null when it is no image. */
export type Attachment = Queued<{ picture: string | null }>
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
  const arrived = signal<ReadonlyMap<string, Arrived>>(new Map())
  /** Names of those that were uploaded. */
  const names = new Map<number, string>()
  const queue = new UploadQueue<Attachment['more']>({
    platform,
    target: async () => ({ sessionId: await ensureSession() }),
    onArrived({ id, more: { picture } }, { filename, size }) {
      names.set(id, filename)
      composer.addFile(filename)
      arrived.value = new Map(arrived.value).set(filename, { sizeBytes: size, picture })
    },
  })
  const { list } = queue

  const tooMany = (): boolean =>
    composer.files.value.length + list.value.filter(({ state }) => state === 'uploading').length >=
    MAX_ATTACHMENTS

  const add = (file: File | DroppedFolder): number => {
    const isFolder = 'send' in file
    const isLarge = !isFolder && file.size > MAX_UPLOAD_BYTES
    const picture = isFolder || !/^image\/(?!svg)/.test(file.type) ? null : pictureOf(file)
    const many = tooMany() ? t('attach.many', { max: `${MAX_ATTACHMENTS}` }) : ''
    const problem = isLarge ? t('attach.large', { max: formatBytes(20_000_000) }) : many
    return queue.add(file, { picture }, problem)
  }

  /** A file over the size limit stays failed. */
  const canRetry = ({ state, file }: Attachment): boolean =>
    state === 'failed' && ('send' in file || file.size <= MAX_UPLOAD_BYTES)

  const longTexts = createLongTexts({
    composer,
    add,
    isAttached: id =>
      list.value.some(one => one.id === id && one.state === 'uploading') ||
      composer.files.value.includes(names.get(id) ?? ''),
    remove(id) {
      queue.remove(id)
      const name = names.get(id)
      if (name !== undefined) composer.removeFile(name)
    },
  })

  return {
    list,
    arrived,
    busy: queue.isBusy,
    ...longTexts,
    add(files: Iterable<File | DroppedFolder>): void {
      for (const file of files) add(file)
    },
    canRetry,
    retry(id: number): void {
      const found = list.value.find(one => one.id === id)
      if (found && canRetry(found) && !tooMany()) queue.retry(id)
    },
    remove: (id: number) => queue.remove(id),
    /** Resolves when no upload is running; false when one has failed. */
    async uploadsDone(): Promise<boolean> {
      await queue.idle()
      return list.value.length === 0
    },
  }
}

export type Attachments = ReturnType<typeof createAttachments>
