/** Files on their way into the workspace for the message that is being written: progress, retry, and what they looked like. */
import { computed, signal } from '@preact/signals'
import { formatBytes } from '../workspace/file-kind.ts'
import { t } from '../../strings/t.ts'
import type { Composer } from './composer.ts'
import type { Upload, Uploaded, UploadOptions } from '../../upload.ts'
import type { Platform } from '../../platform.ts'

/** The service takes no larger request; the form around the file needs some of it. */
export const MAX_UPLOAD_BYTES = 20 * 1024 * 1024 - 4096
/** The service takes no more with one message. */
export const MAX_ATTACHMENTS = 20
/** From here on a pasted text is offered as a file. */
export const LONG_PASTE_CHARS = 4000

/** Made of what was dropped; the whole of it is one chip, and one name in the message. */
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
  /** An address of the picture itself; null when it is none. */
  picture: string | null
  /** What `file` only names. */
  folder?: DroppedFolder
}
/** What is known of a file that has arrived, beyond its path. */
export type Arrived = { sizeBytes: number; picture: string | null }

export type AttachmentsOptions = {
  platform: Pick<Platform, 'api' | 'upload'>
  composer: Pick<Composer, 'addFile' | 'sessionId' | 'files' | 'text' | 'edit'>
  ensureSession: () => Promise<string>
  /** A `blob:` address, made by the browser. */
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
  const pasted = signal<string | null>(null)
  const stops = new Map<number, AbortController>()
  /** Who waits until nothing is under way. */
  const waiting: (() => void)[] = []
  let last = 0
  /** One after the other: the chips then keep their places while they arrive. */
  let line: Promise<void> = Promise.resolve()

  const busy = computed(() => list.value.some(({ state }) => state === 'uploading'))

  /** Files the message has or will have. */
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

  /** The conversation may have been left meanwhile: its draft on the server then gets the file. */
  const hand = async (sessionId: string, name: string): Promise<void> => {
    if (composer.sessionId.value === sessionId) {
      composer.addFile(name)
      return
    }
    const { session } = await platform.api('GET /api/session', { session_id: sessionId, limit: 1 })
    const { text, files } = session.composer_draft
    const input = { session_id: sessionId, text, files: [...new Set([...files, name])] }
    await platform.api('POST /api/session/draft', input)
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
      await hand(sessionId, filename)
      arrived.value = new Map(arrived.value).set(filename, { sizeBytes: size, picture })
      drop(id)
    } catch (error) {
      // Taken away by the person: its chip is gone, and nobody is to be told.
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

  return {
    list,
    arrived,
    busy,
    /** A long text that was just pasted, while it still stands in the message. */
    pasteOffer: computed(() => {
      const text = pasted.value
      return text !== null && composer.text.value.includes(text) ? text : null
    }),
    add,
    addFolder,
    /** Sends a failed one again; one that is too large stays what it is. */
    retry(id: number): void {
      const found = list.value.find(one => one.id === id)
      if (found?.state !== 'failed' || found.file.size > MAX_UPLOAD_BYTES || tooMany()) return
      patch(id, { state: 'uploading', sentBytes: 0, error: '' })
      begin(found)
    },
    canRetry: ({ state, file }: Attachment): boolean =>
      state === 'failed' && file.size <= MAX_UPLOAD_BYTES,
    remove(id: number): void {
      stops.get(id)?.abort()
      drop(id)
    },
    /** Resolves when nothing is under way; false when something could not be sent. */
    async uploadsDone(): Promise<boolean> {
      if (busy.value) await new Promise<void>(resolve => waiting.push(resolve))
      return list.value.length === 0
    },
    onPaste(text: string): void {
      pasted.value = text.length > LONG_PASTE_CHARS ? text.replace(/\r\n?/g, '\n') : null
    },
    dismissPaste(): void {
      pasted.value = null
    },
    /** The pasted text leaves the message and comes along as a file. */
    attachPaste(): void {
      const text = pasted.value
      if (text === null) return
      pasted.value = null
      composer.edit(composer.text.value.replace(text, () => ''))
      add([new File([text], 'pasted-text.txt', { type: 'text/plain' })])
    },
  }
}

export type Attachments = ReturnType<typeof createAttachments>
