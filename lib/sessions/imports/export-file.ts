/** Opens an export: a JSON file, or a ZIP archive whose entries are read one by one. Names of entries are never paths here. */
import { closeSync, createReadStream, fstatSync, readSync } from 'node:fs'
import { basename } from 'node:path'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { type Entry, fromFd, type ZipFile } from 'yauzl'
import { invalid } from '../../errors.ts'
import { fileReason } from '../../store/file-error.ts'
import { openFile } from '../../store/read-text.ts'

const MAX_ENTRIES = 200_000
/** Uncompressed, of all JSON files. They are read as streams: this limits the time that an archive made to harm can take. */
const MAX_JSON_BYTES = 16 * 1024 ** 3

export type ArchiveFile = {
  /** Without folders. */
  name: string
  size: number
  open: () => Promise<Readable>
}

export type ExportFile = {
  /** The JSON files with conversations. */
  parts: readonly ArchiveFile[]
  /** Of all parts. */
  bytes: number
  /** Another JSON file of the archive, such as its list of projects. */
  part: (name: string) => ArchiveFile | undefined
  /** A file of a message, by the id that begins its name or names its folder, or by its whole name if only one has it. */
  find: (name: string, id: string | undefined) => ArchiveFile | undefined
  close: () => void
}

const damaged = () =>
  invalid('The archive is damaged or incomplete. Download it again.', { code: 'import_damaged' })

/** Opens the file; `name` is what a person calls it. Throws a sentence if it is empty or no export. */
export const openExport = async (path: string, name = basename(path)): Promise<ExportFile> => {
  const fd = openNamed(path)
  const close = () => closeSync(fd)
  try {
    const { size } = fstatSync(fd)
    if (size === 0) throw invalid('The file is empty.', { code: 'import_empty' })
    const head = Buffer.alloc(4)
    readSync(fd, head, 0, 4, 0)
    if (/^PK(?:\x03\x04|\x05\x06)/.test(head.toString('latin1'))) {
      const zip = await openArchive(fd)
      return { ...indexOf(zip, await readDirectory(zip)), close }
    }
    const open = async () => createReadStream('', { fd: openNamed(path), highWaterMark: 1 << 20 })
    const whole = { name, size, open }
    const nothing = () => undefined
    return { parts: [whole], bytes: size, part: nothing, find: nothing, close }
  } catch (error) {
    close()
    throw error
  }
}

const openNamed = (path: string): number => {
  try {
    return openFile(path)
  } catch (error) {
    throw invalid(`${path}: ${fileReason(error)}`)
  }
}

const openArchive = (fd: number): Promise<ZipFile> =>
  new Promise((resolve, reject) => {
    // With `decodeStrings`, one entry with `..` in its name makes the whole archive unreadable.
    const options = { lazyEntries: true, autoClose: false, decodeStrings: false }
    fromFd(fd, options, (error, zip) => (error ? reject(damaged()) : resolve(zip)))
  })

const readDirectory = (zip: ZipFile): Promise<Entry[]> =>
  new Promise((resolve, reject) => {
    const entries: Entry[] = []
    zip.on('error', () => reject(damaged()))
    zip.on('end', () => resolve(entries))
    zip.on('entry', (entry: Entry) => {
      entries.push(entry)
      if (entries.length > MAX_ENTRIES) reject(damaged())
      else zip.readEntry()
    })
    zip.readEntry()
  })

/** yauzl fails as soon as there are more bytes than the directory says. */
const openEntry = (zip: ZipFile, entry: Entry): Promise<Readable> =>
  new Promise((resolve, reject) => {
    if (entry.isEncrypted()) throw damaged()
    zip.openReadStream(entry, (error, stream) => (error ? reject(damaged()) : resolve(stream)))
  })

/** `file-AbC` of `file-AbC-photo.png`, or a UUID at the beginning. */
const ID = /^(?:file[-_][0-9A-Za-z]+|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})/

/** `conversations.json` and its parts; in our own export all but its index. An archive without any has one chat in each file. */
const CHATS = /(?:^|[/\\])(?:conversations[^/\\]*\.jsonl?|sessions[/\\][^/\\_][^/\\]*\.json)$/i

const indexOf = (zip: ZipFile, entries: readonly Entry[]): Omit<ExportFile, 'close'> => {
  const json: { path: string; file: ArchiveFile }[] = []
  const byId = new Map<string, ArchiveFile>()
  /** Null: several files have it. */
  const byName = new Map<string, ArchiveFile | null>()
  for (const entry of entries) {
    const path = String(entry.fileName)
    const names = path.split(/[/\\]/)
    const name = names.at(-1) ?? ''
    // macOS puts a second file beside each one that it packs.
    if (name === '' || name.startsWith('._')) continue
    const file = { name, size: entry.uncompressedSize, open: () => openEntry(zip, entry) }
    if (/\.jsonl?$/i.test(name)) json.push({ path, file })
    byName.set(name, byName.has(name) ? null : file)
    for (const each of [...names.slice(0, -1).toReversed(), name]) {
      const [id] = ID.exec(each) ?? []
      if (id !== undefined && (each === name || !byId.has(id))) byId.set(id, file)
    }
  }
  const chats = json.filter(({ path }) => CHATS.test(path))
  const parts = (chats.length > 0 ? chats : json)
    .toSorted((a, b) => a.path.localeCompare(b.path, 'en', { numeric: true }))
    .map(({ file }) => file)
  const bytes = parts.reduce((sum, { size }) => sum + size, 0)
  if (parts.length === 0)
    throw invalid('The archive has no file with conversations.', { code: 'import_unknown' })
  if (bytes > MAX_JSON_BYTES) throw damaged()
  return {
    parts,
    bytes,
    part: name => json.find(({ file }) => file.name === name)?.file,
    find: (name, id) =>
      (id === undefined ? undefined : byId.get(id)) ?? byName.get(name) ?? undefined,
  }
}

/** A small JSON file; null when it is larger than 64 MB, damaged, or no JSON. */
export const readJsonFile = async (file: ArchiveFile): Promise<unknown> => {
  if (file.size > 64 << 20) return null
  try {
    return JSON.parse((await buffer(await file.open())).toString())
  } catch {
    // The names in it are missing then; the conversations do not depend on it.
    return null
  }
}
