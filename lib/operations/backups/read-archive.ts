/** Reads a backup from its first to its last entry and checks all of it: names, order, hashes, and that nothing is missing. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { createZstdDecompress } from 'node:zlib'
import { sha256 } from '../../base/sha256.ts'
import { invalid, missing, type UserError } from '../../errors.ts'
import { errorCode } from '../../store/file-error.ts'
import {
  checkPath,
  followLink,
  FORMAT,
  Head,
  HEAD,
  KEYS,
  MANIFEST,
  ManifestLine,
  rootOf,
} from './format.ts'
import { MAX_KEYS_BYTES } from './keys.ts'
import { readTar, type TarEntry, type TarHeader } from './tar.ts'

export type ArchiveEntry = TarHeader

export type ArchiveReader = {
  /** Called before anything else. */
  onHead?: (head: Head) => void | Promise<void>
  /** Must read `content` to its end. */
  onEntry?: (entry: ArchiveEntry, content: AsyncIterable<Buffer>) => Promise<void>
  /** The encrypted part, if there is one. */
  onKeys?: (encrypted: Buffer) => void
}

export type ReadArchive = {
  head: Head
  /** What the program noted about every entry. */
  lines: ManifestLine[]
  files: number
  /** Bytes of all files before compression. */
  bytes: number
}

/** A head is a few hundred bytes, a manifest about 200 for each file. */
const MAX_HEAD_BYTES = 64 * 1024
const MAX_MANIFEST_BYTES = 512 * 1024 * 1024

const damaged = (why: string): UserError => invalid(`This backup is damaged: ${why}.`)

const parseHead = (bytes: Buffer): Head => {
  let value: unknown
  try {
    value = JSON.parse(bytes.toString('utf8'))
  } catch {
    throw invalid('This is not a backup of agent-webui.')
  }
  const { format } = value as { format?: unknown }
  if (typeof format === 'number' && format > FORMAT)
    throw invalid(
      `This backup was written by a newer version of agent-webui (format ${format}; this version reads ${FORMAT}). Update first.`,
    )
  const result = Head.safeParse(value)
  if (!result.success) throw invalid('This is not a backup of agent-webui.')
  return result.data
}

const parseManifest = (bytes: Buffer): ManifestLine[] =>
  bytes
    .toString('utf8')
    .split('\n')
    .filter(line => line !== '')
    .map(line => {
      try {
        return ManifestLine.parse(JSON.parse(line))
      } catch {
        throw damaged('its list of files cannot be read')
      }
    })

const OWN = new Set([HEAD, KEYS, MANIFEST])

type Seen = Pick<ManifestLine, 'type' | 'mode' | 'size' | 'sha256' | 'target'>

/** Throws for the first entry that is not what the program noted when it wrote it. */
const compare = (seen: ReadonlyMap<string, Seen>, lines: readonly ManifestLine[]): void => {
  const missing = new Set(seen.keys())
  missing.delete(MANIFEST)
  for (const { path, type, mode, size = 0, sha256, target, padding = 0 } of lines) {
    const entry = seen.get(path)
    if (!entry || !missing.delete(path)) throw damaged(`${path} is missing`)
    const isSame =
      entry.type === type &&
      entry.mode === mode &&
      entry.target === target &&
      (entry.size ?? 0) === size + padding
    // The hash of a padded file is that of its content alone, which is no longer at hand.
    if (!isSame || (padding === 0 && entry.sha256 !== sha256))
      throw damaged(`${path} is not what was saved`)
  }
  for (const path of missing) throw damaged(`${path} is in no list`)
}

/** Links lead to places in the same directory of the backup, or nowhere. */
const checkLinks = (seen: ReadonlyMap<string, Seen>): void => {
  const links = new Map<string, string>()
  for (const [path, { type, target }] of seen) if (type === 'link') links.set(path, target ?? '')
  for (const [path, target] of links) {
    if (followLink(path, links) === undefined)
      throw invalid(`This backup has a link that leads out of it: ${path} → ${target}`)
  }
}

class EntryChecker {
  readonly #reader: ArchiveReader
  readonly #seen = new Map<string, Seen>()
  readonly #state: {
    head: Head | null
    lines: ManifestLine[] | null
    bytes: number
    files: number
  } = {
    head: null,
    lines: null,
    bytes: 0,
    files: 0,
  }

  constructor(reader: ArchiveReader) {
    this.#reader = reader
  }

  async add(entry: TarEntry): Promise<void> {
    const { path } = entry.header
    if (!this.#state.head && path !== HEAD) throw invalid('This is not a backup of agent-webui.')
    if (this.#state.lines) throw damaged('it continues after its end')
    if (this.#seen.has(path)) throw damaged(`${path} is in it twice`)
    await (OWN.has(path) ? this.#own(entry) : this.#readEntry(entry))
  }

  finish(): ReadArchive {
    const { head, lines, files, bytes } = this.#state
    if (!head) throw invalid('This is not a backup of agent-webui.')
    if (!lines) throw damaged('it ends too early')
    compare(this.#seen, lines)
    if (head.keys === 'encrypted' && !this.#seen.has(KEYS)) throw damaged('its keys are missing')
    checkLinks(this.#seen)
    return { head, lines, files, bytes }
  }

  async #limited({ header, content }: TarEntry, limit: number): Promise<Buffer> {
    if (header.type !== 'file' || header.size > limit) throw damaged(`${header.path} is too large`)
    const bytes = await buffer(content)
    const { mode, size } = header
    this.#seen.set(header.path, { type: 'file', mode: mode & 0o777, size, sha256: sha256(bytes) })
    return bytes
  }

  async #own(entry: TarEntry): Promise<void> {
    const { path } = entry.header
    if (path === HEAD) {
      if (this.#state.head) throw damaged('it has two heads')
      this.#state.head = parseHead(await this.#limited(entry, MAX_HEAD_BYTES))
      await this.#reader.onHead?.(this.#state.head)
    } else if (path === KEYS) {
      // As large as its content, and a header.
      const encrypted = await this.#limited(entry, 2 * MAX_KEYS_BYTES)
      if (this.#state.head?.keys !== 'encrypted') throw damaged('it has keys that its head denies')
      this.#reader.onKeys?.(encrypted)
    } else this.#state.lines = parseManifest(await this.#limited(entry, MAX_MANIFEST_BYTES))
  }

  #checkPlace({ header: { path, type } }: TarEntry): void {
    checkPath(path)
    if (type === null)
      throw invalid(`This backup has an entry that is no file, directory, or link: ${path}`)
    const parent = path.slice(0, path.lastIndexOf('/'))
    // So nothing is written through a link.
    if (rootOf(path) !== path && this.#seen.get(parent)?.type !== 'directory')
      throw damaged(`the directory of ${path} is not in it`)
  }

  async #readEntry(entry: TarEntry): Promise<void> {
    this.#checkPlace(entry)
    const { header, content } = entry
    const { path, mode, size, target } = header
    const type = header.type ?? 'file'
    const hash = createHash('sha256')
    const hashed = async function* (): AsyncGenerator<Buffer> {
      for await (const chunk of content) {
        hash.update(chunk)
        yield chunk
      }
    }
    const bytes = hashed()
    await this.#reader.onEntry?.({ ...header, type }, bytes)
    for await (const _ of bytes) {
      // No one read it: only its hash is wanted.
    }
    this.#seen.set(path, {
      type,
      mode: mode & 0o777,
      ...(type === 'file' && { size, sha256: hash.digest('hex') }),
      ...(type === 'link' && { target: target ?? '' }),
    })
    if (type === 'file') {
      this.#state.files += 1
      this.#state.bytes += size
    }
  }
}

/** Errors of zstd and of tar-stream about the bytes themselves. */
const isDamage = (error: unknown): boolean =>
  /^(?:Z_|ZSTD_|ERR_)/.test(errorCode(error)) ||
  (error instanceof Error &&
    errorCode(error) === '' &&
    /^(?:Invalid (?:tar )?header|Unexpected end of data|Header exceeds)/.test(error.message))

/** Throws a UserError for anything that is not a whole backup of a format this version knows. */
export const readArchive = async (
  path: string,
  reader: ArchiveReader = {},
): Promise<ReadArchive> => {
  const checker = new EntryChecker(reader)
  try {
    for await (const entry of readTar(createReadStream(path), createZstdDecompress()))
      await checker.add(entry)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') throw missing(`There is no file ${path}.`)
    if (errorCode(error) === 'EISDIR') throw invalid(`${path} is a directory.`)
    if (!isDamage(error)) throw error
    throw /ZSTD_error_prefix_unknown/.test(errorCode(error))
      ? invalid('This is not a backup of agent-webui.')
      : damaged('it is cut off, or its content has changed')
  }
  return checker.finish()
}
