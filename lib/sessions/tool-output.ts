/** Storage for long tool results and images: a private directory per session, with a total size limit. */
import { linkSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, isAbsolute, join, relative, sep } from 'node:path'
import { namesIn } from '../base/directories.ts'
import { sha256 } from '../base/sha256.ts'
import { SESSION_ID } from '../schema/ids.ts'
import { IMAGE_FILE } from '../schema/image.ts'
import { errorCode } from '../store/file-error.ts'
import { readWhole } from '../store/read-text.ts'
import { reportWrite } from '../store/write-reports.ts'
import { readImageFile } from '../agent/image-file.ts'
import { MAX_IMAGE_BYTES } from '../agent/images.ts'
import { invalid } from '../errors.ts'

const MAX_TOTAL_BYTES = 256 * 1024 * 1024
const MAX_FILES = 2_000
/** Limit of one result. */
const MAX_CHARS = 8_000_000

type StoredFile = { path: string; sizeBytes: number; at: number }

const filesOf = (folder: string): StoredFile[] =>
  namesIn(folder).flatMap(name => {
    const path = join(folder, name)
    const stat = statSync(path, { throwIfNoEntry: false })
    // A copy of a session has links to the same images.
    const sizeBytes = stat ? stat.size / Math.max(1, stat.nlink) : 0
    return stat?.isFile() ? [{ path, sizeBytes, at: stat.mtimeMs }] : []
  })

/** An unused file name. Call ids come from providers, so unsafe ones are hashed. */
const unusedName = (folder: string, callId: string, ending: string): string => {
  const stem = /^[\w-]{1,80}$/.test(callId) ? callId : sha256(callId).slice(0, 24)
  const names = new Set(namesIn(folder))
  for (let n = 1; ; n++) {
    const name = n === 1 ? `${stem}.${ending}` : `${stem}-${n}.${ending}`
    if (!names.has(name)) return name
  }
}

export class ToolOutput {
  readonly #dir: string
  readonly #log: (line: string, extra?: Record<string, unknown>) => void
  readonly #maxTotalBytes: number
  readonly #maxFiles: number

  constructor(
    dir: string,
    log: (line: string, extra?: Record<string, unknown>) => void,
    { maxTotalBytes = MAX_TOTAL_BYTES, maxFiles = MAX_FILES } = {},
  ) {
    this.#dir = dir
    this.#log = log
    this.#maxTotalBytes = maxTotalBytes
    this.#maxFiles = maxFiles
  }

  dirOf(sessionId: string): string {
    if (!SESSION_ID.test(sessionId)) throw new Error('Not a session id')
    return join(this.#dir, sessionId)
  }

  /** The session that owns a path: the page requests an image by its path alone. */
  ownerOf(path: string): string | undefined {
    const way = relative(this.#dir, path)
    const [id = ''] = way.split(sep)
    return isAbsolute(path) && way !== id && SESSION_ID.test(id) ? id : undefined
  }

  /** Evicts the oldest files of all sessions until the limits hold. */
  #evictOldest(): void {
    const all = namesIn(this.#dir).flatMap(name => filesOf(join(this.#dir, name)))
    let total = all.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0)
    let count = all.length
    for (const { path, sizeBytes } of all.sort((a, b) => a.at - b.at)) {
      if (total <= this.#maxTotalBytes && count <= this.#maxFiles) return
      rmSync(path, { force: true })
      reportWrite(path)
      total -= sizeBytes
      count -= 1
    }
  }

  /** Creates a file and evicts others if necessary; null when that failed, which must not fail the turn. */
  #create(
    sessionId: string,
    content: string | Buffer,
    nameIn: (folder: string) => string,
  ): string | null {
    try {
      const folder = this.dirOf(sessionId)
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      const path = join(folder, nameIn(folder))
      writeFileSync(path, content, { mode: 0o600, flag: 'wx' })
      reportWrite(path)
      this.#evictOldest()
      return path
    } catch (error) {
      this.#log('could not store a long result', { session_id: sessionId, error: String(error) })
      return null
    }
  }

  /** The path of the stored result; null when storing failed, which must not fail the turn. */
  save(sessionId: string, callId: string, text: string): string | null {
    const more = text.length - MAX_CHARS
    const content =
      more > 0
        ? `${text.slice(0, MAX_CHARS)}\n[… ${more} more characters were not stored …]\n`
        : text
    return this.saveBytes(sessionId, callId, content, 'txt')
  }

  /** Like `save`, for bytes; `ending` is the file extension. */
  saveBytes(
    sessionId: string,
    callId: string,
    content: string | Buffer,
    ending: string,
  ): string | null {
    return this.#create(sessionId, content, folder => unusedName(folder, callId, ending))
  }

  /** Stores an image under a name made of its content, once, and returns the name; null when storing failed. */
  saveImage(sessionId: string, bytes: Buffer, ending: string): string | null {
    const name = `image-${sha256(bytes).slice(0, 32)}.${ending}`
    const path = join(this.dirOf(sessionId), name)
    const stat = statSync(path, { throwIfNoEntry: false })
    if (stat?.isFile() && stat.size === bytes.length) return name
    // A part of it, left by a full disk or a killed process.
    if (stat?.isFile()) rmSync(path, { force: true })
    return this.#create(sessionId, bytes, () => name) === null ? null : name
  }

  /** The bytes of a stored image; null when it was removed. Any other name is rejected: names come from transcripts. */
  loadImage(sessionId: string, name: string): Buffer | null {
    if (!IMAGE_FILE.test(name)) return null
    try {
      return readWhole(join(this.dirOf(sessionId), name))
    } catch (error) {
      if (errorCode(error) !== 'ENOENT')
        this.#log('could not read an image', { error: String(error) })
      return null
    }
  }

  /** For a copy of a session: its messages name the same images. */
  copyImages(from: string, to: string): void {
    const [source, target] = [this.dirOf(from), this.dirOf(to)]
    const images = namesIn(source).filter(name => IMAGE_FILE.test(name))
    if (images.length === 0) return
    try {
      mkdirSync(target, { recursive: true, mode: 0o700 })
      for (const name of images) linkSync(join(source, name), join(target, name))
      reportWrite(target)
    } catch (error) {
      // A file system without hard links, or a full disk: the copy of the session contains notes instead.
      this.#log('could not copy images', { session_id: to, error: String(error) })
    }
  }

  /** Deletes the results of a session permanently. */
  remove(sessionId: string): void {
    rmSync(this.dirOf(sessionId), { recursive: true, force: true })
    reportWrite(this.dirOf(sessionId))
  }

  /** After a purge: deletes the files that `text`, the session's messages, no longer names. Images are named without a folder. */
  retain(sessionId: string, text: string): void {
    for (const { path } of filesOf(this.dirOf(sessionId))) {
      const name = basename(path)
      if (!text.includes(IMAGE_FILE.test(name) ? name : path)) rmSync(path)
    }
    reportWrite(this.dirOf(sessionId))
  }

  /** Deletes the directories of sessions that no longer exist. */
  sweep(isKept: (sessionId: string) => boolean): void {
    for (const id of namesIn(this.#dir)) if (SESSION_ID.test(id) && !isKept(id)) this.remove(id)
  }
}

const refused = () =>
  invalid('A pasted picture must be PNG, JPEG, GIF or WebP, and at most 10 MB.', {
    code: 'picture_not_kept',
    values: { max: MAX_IMAGE_BYTES >> 20 },
  })

/** `from`: the file that was uploaded. The name that messages attach it by is its path. */
export const keepPicture = (store: ToolOutput, sessionId: string, from: string) => {
  const bytes = readWhole(from)
  const image = bytes.length > MAX_IMAGE_BYTES ? null : readImageFile(bytes)
  const name = image && store.saveImage(sessionId, bytes, image.ending)
  if (!name) throw refused()
  const path = join(store.dirOf(sessionId), name)
  return { filename: path, path }
}
