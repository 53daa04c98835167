/** Reads files of a ZIP archive, limited in number and size whatever its directory says. */
import { buffer } from 'node:stream/consumers'
import { type Entry, fromBuffer, type ZipFile } from 'yauzl'
import { decodeXml } from './xml.ts'

const MAX_ENTRIES = 20_000
/** Uncompressed, for one file and for all that are read. */
const MAX_FILE_BYTES = 64 * 1024 * 1024
const MAX_BYTES = 160 * 1024 * 1024

export type Archive = {
  names: readonly string[]
  /** Null if there is no such file. Throws a sentence for an encrypted, damaged, or huge one. */
  read: (name: string) => Promise<string | null>
}

/** Throws a sentence if it is no ZIP archive. */
export const openArchive = async (bytes: Buffer): Promise<Archive> => {
  const zip = await open(bytes)
  const entries = await readDirectory(zip)
  let bytesLeft = MAX_BYTES
  return {
    names: [...entries.keys()],
    async read(name) {
      const entry = entries.get(name)
      if (!entry) return null
      const content = await readEntry(zip, entry, Math.min(bytesLeft, MAX_FILE_BYTES))
      bytesLeft -= content.length
      return decodeXml(content)
    },
  }
}

const damaged = (cause: unknown) =>
  new Error('The file is damaged: it is no complete ZIP archive.', { cause })

const open = (bytes: Buffer): Promise<ZipFile> =>
  new Promise((resolve, reject) => {
    fromBuffer(bytes, { lazyEntries: true, autoClose: false }, (error, zip) =>
      error ? reject(damaged(error)) : resolve(zip),
    )
  })

const readDirectory = (zip: ZipFile): Promise<Map<string, Entry>> =>
  new Promise((resolve, reject) => {
    const entries = new Map<string, Entry>()
    zip.on('error', error => reject(damaged(error)))
    zip.on('end', () => resolve(entries))
    zip.on('entry', (entry: Entry) => {
      entries.set(entry.fileName, entry)
      if (entries.size > MAX_ENTRIES) reject(new Error('The file holds too many parts.'))
      else zip.readEntry()
    })
    zip.readEntry()
  })

/** yauzl fails as soon as there are more bytes than the directory says, so a file cannot expand without limit. */
const readEntry = (zip: ZipFile, entry: Entry, maxBytes: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    if (entry.isEncrypted()) throw new Error('The file is protected with a password.')
    if (entry.uncompressedSize > maxBytes)
      throw new Error('The file is too large when it is unpacked.')
    zip.openReadStream(entry, (error, stream) => {
      if (error) reject(damaged(error))
      else buffer(stream).then(resolve, cause => reject(damaged(cause)))
    })
  })
