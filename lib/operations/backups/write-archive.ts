/** Writes what a walk finds into a compressed archive, with a hash of every file. Memory grows with the number of files, not with their size. */
import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress } from 'node:zlib'
import { sha256 } from '../../base/sha256.ts'
import { invalid, messageOf } from '../../errors.ts'
import { type Head, HEAD, KEYS, MANIFEST, type ManifestLine } from './format.ts'
import { encryptKeys, type KeyFile, MAX_KEYS_BYTES } from './keys.ts'
import { openForBackup } from './read-file.ts'
import { errorCode } from '../../store/file-error.ts'
import { isDiskFull as isFull } from '../../store/journal.ts'
import { TarWriter } from './tar.ts'
import { unknownEntry } from './treatment.ts'
import type { SavedEntry } from './walk.ts'

export type Problem = { path: string; reason: string }

export type ArchiveSummary = {
  files: number
  /** Bytes of all files before compression. */
  bytes: number
  /** Files with keys: in the encrypted part, or left out. */
  keyFiles: string[]
  /** What is not in the archive, or changed while it was read. */
  problems: Problem[]
}

export type ArchiveOptions = {
  /** When it is written: milliseconds since 1970. */
  now: number
  head: Head
  files: AsyncIterable<SavedEntry>
  problems: Problem[]
  /** The passphrase of the encrypted part; null: keys are left out. */
  passphrase: string | null
  /** The text of a file without the keys in it; the same text when it has none, null when they cannot be taken out. */
  withoutKeys: (path: string, text: string) => string | null
  /** Copies a SQLite database that programs may be using; returns the path of the copy, which is deleted afterwards. Null: it is no database. */
  copyDatabase: (file: string) => Promise<{ file: string; remove: () => void } | null>
  workFactor?: number | undefined
  signal?: AbortSignal | undefined
}

type FoundFile = Extract<SavedEntry, { type: 'file' }>

class ArchiveEntries {
  readonly #writer: TarWriter
  readonly #passphrase: string | null
  readonly #withoutKeys: (path: string, text: string) => string | null
  readonly #copyDatabase: (file: string) => Promise<{ file: string; remove: () => void } | null>
  readonly #problems: Problem[]
  readonly manifest: ManifestLine[] = []
  readonly keys: KeyFile[] = []
  readonly summary: ArchiveSummary
  #keyBytes = 0

  constructor(writer: TarWriter, options: ArchiveOptions) {
    this.#writer = writer
    const { passphrase, withoutKeys, copyDatabase, problems } = options
    this.#passphrase = passphrase
    this.#withoutKeys = withoutKeys
    this.#copyDatabase = copyDatabase
    this.#problems = problems
    this.summary = { files: 0, bytes: 0, keyFiles: [], problems }
  }

  /** Null when the file is gone, or may not be read, which is a problem of that file alone. */
  async #open({ path, file }: FoundFile, isJournal = false) {
    try {
      return await openForBackup(file, { isJournal })
    } catch (error) {
      if (!['EACCES', 'EPERM', 'EIO'].includes(errorCode(error))) throw error
      this.#problems.push({ path, reason: messageOf(error) })
      return null
    }
  }

  /** Large files are no key files. */
  async #hasKeys(file: FoundFile): Promise<boolean> {
    const source = await this.#open(file)
    if (!source) return false
    try {
      const text = source.whole?.toString() ?? ''
      return this.#withoutKeys(file.path, text) !== text
    } finally {
      await source.close()
    }
  }

  /** Decides about the files that this version does not know, and names them: a later version may keep keys there. */
  async #treatUnknown(file: FoundFile): Promise<FoundFile> {
    const entry = unknownEntry(file.path)
    if (entry === null) return file
    const isKey = file.treatment === 'key' || (await this.#hasKeys(file))
    const isMissing = isKey && this.#passphrase === null
    // A file that may have keys is named itself, the other ones by their entry.
    const path = isMissing ? file.path : entry
    if (!this.#problems.some(each => each.path === path)) {
      const reason = isMissing
        ? 'not saved, because it may have keys; --with-keys saves it'
        : 'saved, but this version does not know it: see whether it has keys'
      this.#problems.push({ path, reason })
    }
    return isKey ? { ...file, treatment: 'key' } : file
  }

  async #addKey(file: FoundFile): Promise<void> {
    if (this.#passphrase === null) return void this.summary.keyFiles.push(file.path)
    const whole = await this.#readWhole(file)
    if (whole) this.#keepKey(whole)
  }

  async #addStripped(file: FoundFile): Promise<void> {
    const whole = await this.#readWhole(file)
    if (!whole) return
    const text = whole.content.toString('utf8')
    const stripped = this.#withoutKeys(file.path, text)
    if (stripped === null) return this.#keepKey(whole)
    this.#count(Buffer.byteLength(stripped))
    if (stripped === text) return this.addBytes(whole, whole.content)
    this.#keepKey(whole)
    await this.addBytes(whole, Buffer.from(stripped), { keys_removed: true })
  }

  async #addContent(file: FoundFile): Promise<void> {
    const source = await this.#open(file, file.treatment === 'journal')
    if (!source) return
    try {
      const { mode, mtimeMs, size, whole } = source
      if (whole) {
        this.#count(size)
        return await this.addBytes({ path: file.path, mode, mtimeMs }, whole)
      }
      const hash = createHash('sha256')
      const content = source.content()
      const state = { size, padding: 0, changed: false }
      const hashed = async function* (): AsyncGenerator<Buffer> {
        for (;;) {
          const next = await content.next()
          if (next.done) return void Object.assign(state, next.value)
          hash.update(next.value)
          yield next.value
        }
      }
      await this.#writer.add(
        { path: file.path, type: 'file', mode, mtimeMs, size, target: null },
        hashed(),
      )
      this.#note({
        path: file.path,
        type: 'file',
        mode: mode & 0o777,
        size: state.size,
        sha256: hash.digest('hex'),
        ...(state.padding > 0 && { padding: state.padding }),
        ...(state.changed && { changed: true as const }),
      })
      if (state.changed)
        this.#problems.push({ path: file.path, reason: 'it changed while it was read' })
      this.#count(state.size)
    } finally {
      await source.close()
    }
  }

  async #addDatabase(file: FoundFile): Promise<void> {
    const copy = await this.#copyDatabase(file.file)
    if (!copy) return this.#addContent({ ...file, treatment: 'save' })
    try {
      await this.#addContent({ ...file, file: copy.file, treatment: 'save' })
    } finally {
      copy.remove()
    }
  }

  async addBytes(
    { path, mode, mtimeMs }: Omit<KeyFile, 'content'>,
    content: Buffer,
    extra: Partial<ManifestLine> = {},
  ): Promise<void> {
    const size = content.length
    await this.#writer.add({ path, type: 'file', mode, mtimeMs, size, target: null }, content)
    this.#note({ path, type: 'file', mode: mode & 0o777, size, sha256: sha256(content), ...extra })
  }

  async add(entry: SavedEntry): Promise<void> {
    if (entry.type === 'file') {
      const file = await this.#treatUnknown(entry)
      if (file.treatment === 'key') return this.#addKey(file)
      if (file.treatment === 'strip') return this.#addStripped(file)
      return file.treatment === 'database' ? this.#addDatabase(file) : this.#addContent(file)
    }
    const { path, type, mtimeMs } = entry
    const mode = entry.mode & 0o777
    const target = entry.type === 'link' ? entry.target : null
    await this.#writer.add({ path, type, mode, mtimeMs, size: 0, target })
    this.#note({ path, type, mode, ...(target !== null && { target }) })
  }

  #note(line: ManifestLine) {
    void this.manifest.push(line)
  }

  #count(size: number): void {
    this.summary.files += 1
    this.summary.bytes += size
  }

  #keepKey(file: KeyFile): void {
    this.summary.keyFiles.push(file.path)
    if (this.#passphrase === null) return
    this.#keyBytes += file.content.length
    if (this.#keyBytes > MAX_KEYS_BYTES)
      throw invalid(
        `The files with keys are larger than ${MAX_KEYS_BYTES / 1024 / 1024} MB in all; ${file.path} is one of them. Nothing was saved.`,
        {
          code: 'backup_keys_too_large',
          values: { max: MAX_KEYS_BYTES / 1024 / 1024, file: file.path },
        },
      )
    this.keys.push(file)
  }

  /** Whole in memory: files with keys and settings are small. */
  async #readWhole(file: FoundFile): Promise<KeyFile | null> {
    const source = await this.#open(file)
    if (!source) return null
    try {
      const { mode, mtimeMs, size } = source
      if (size > MAX_KEYS_BYTES)
        throw invalid(
          `${file.path} counts as a file with keys and is too large. Nothing was saved.`,
          {
            code: 'backup_keys_too_large',
            values: { max: MAX_KEYS_BYTES / 1024 / 1024, file: file.path },
          },
        )
      const chunks: Buffer[] = []
      for await (const chunk of source.content()) chunks.push(chunk)
      return { path: file.path, mode, mtimeMs, content: Buffer.concat(chunks) }
    } finally {
      await source.close()
    }
  }
}

const fill = async (writer: TarWriter, options: ArchiveOptions): Promise<ArchiveSummary> => {
  const { head, files, passphrase, workFactor, signal } = options
  const entries = new ArchiveEntries(writer, options)
  const own = (path: string) => ({ path, mode: 0o600, mtimeMs: options.now })
  await entries.addBytes(own(HEAD), Buffer.from(`${JSON.stringify(head, null, 2)}\n`))
  for await (const entry of files) {
    signal?.throwIfAborted()
    await entries.add(entry)
  }
  if (passphrase !== null)
    await entries.addBytes(own(KEYS), await encryptKeys(entries.keys, { passphrase, workFactor }))
  const lines = entries.manifest.map(line => `${JSON.stringify(line)}\n`).join('')
  const last = Buffer.from(lines)
  await writer.add({ ...own(MANIFEST), type: 'file', size: last.length, target: null }, last)
  writer.end()
  return entries.summary
}

/** Writes the archive into `target`, which is empty. Does not sync it. */
export const writeArchive = async (
  target: FileHandle,
  options: ArchiveOptions,
): Promise<ArchiveSummary> => {
  const writer = new TarWriter()
  const compress = createZstdCompress({
    params: {
      [constants.ZSTD_c_compressionLevel]: 3,
      [constants.ZSTD_c_checksumFlag]: 1,
    },
  })
  const flushed = pipeline(writer.stream, compress, async chunks => {
    for await (const chunk of chunks) await target.writeFile(chunk as Buffer)
  })
  const failure = flushed.then(
    () => null,
    (error: unknown) => error,
  )
  try {
    const summary = await fill(writer, options)
    await flushed
    return summary
  } catch (error) {
    writer.stream.destroy()
    // A full disk is the reason; that the archive accepts no more entries follows from it.
    const cause = await failure
    throw isFull(cause) ? cause : error
  }
}
