/** The encrypted part of a backup: a tar archive of the files with keys, in the age format with a passphrase. */
import { createCipheriv, randomBytes, scrypt } from 'node:crypto'
import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { invalid } from '../../errors.ts'
import { TarWriter, readTar, type TarHeader } from './tar.ts'

export type KeyFile = { path: string; mode: number; mtimeMs: number; content: Buffer }

/** Held in memory, because the whole is encrypted at once. */
export const MAX_KEYS_BYTES = 64 * 1024 * 1024

/** Binary logarithm of scrypt's cost, as the age tool chooses it: a second of CPU time and 256 MB. */
const WORK_FACTOR = 18

const base64 = (bytes: Uint8Array): string =>
  Buffer.from(bytes).toString('base64').replace(/=+$/, '')

/**
 * A passphrase recipient, https://c2sp.org/age#the-scrypt-recipient-type. Like the one of the package, but scrypt runs outside the
 * main thread: in the service it would delay every response by a second.
 */
const passphraseRecipient = (
  passphrase: string,
  logN: number,
  Stanza: typeof import('age-encryption').Stanza,
) => ({
  async wrapFileKey(fileKey: Uint8Array) {
    const salt = randomBytes(16)
    const label = Buffer.concat([Buffer.from('age-encryption.org/v1/scrypt'), salt])
    const derive = promisify<string, Buffer, number, object, Buffer>(scrypt)
    const cost = { N: 2 ** logN, r: 8, p: 1, maxmem: 2 ** (logN + 11) }
    const key = await derive(passphrase, label, 32, cost)
    // The key is used once, so the specification has a nonce of zeros.
    const cipher = createCipheriv('chacha20-poly1305', key, Buffer.alloc(12), { authTagLength: 16 })
    const body = Buffer.concat([cipher.update(fileKey), cipher.final(), cipher.getAuthTag()])
    return [new Stanza(['scrypt', base64(salt), String(logN)], body)]
  },
})

const headerOf = ({ path, mode, mtimeMs, content }: KeyFile): TarHeader => ({
  path,
  type: 'file',
  mode,
  mtimeMs,
  size: content.length,
  target: null,
})

export const encryptKeys = async (
  files: readonly KeyFile[],
  { passphrase, workFactor = WORK_FACTOR }: { passphrase: string; workFactor?: number | undefined },
): Promise<Buffer> => {
  const { Encrypter, Stanza } = await import('age-encryption')
  const writer = new TarWriter()
  const archive = buffer(writer.stream)
  for (const file of files) await writer.add(headerOf(file), file.content)
  writer.end()
  const encrypter = new Encrypter()
  encrypter.addRecipient(passphraseRecipient(passphrase, workFactor, Stanza))
  return Buffer.from(await encrypter.encrypt(await archive))
}

/** Throws a UserError for a wrong passphrase and a damaged part. */
export const decryptKeys = async (encrypted: Buffer, passphrase: string): Promise<KeyFile[]> => {
  const { Decrypter } = await import('age-encryption')
  const decrypter = new Decrypter()
  decrypter.addPassphrase(passphrase)
  let archive: Uint8Array
  try {
    archive = await decrypter.decrypt(encrypted)
  } catch {
    // The package says no more than that no key matched.
    throw invalid('The passphrase is wrong, or the keys in this backup are damaged.')
  }
  const files: KeyFile[] = []
  for await (const { header, content } of readTar(Readable.from([Buffer.from(archive)]))) {
    const { path, type, mode, mtimeMs } = header
    const bytes = await buffer(content)
    if (type !== 'file')
      throw invalid(`The keys in this backup have an entry that is no file: ${path}`)
    files.push({ path, mode, mtimeMs, content: bytes })
  }
  return files
}
