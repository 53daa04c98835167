/** Parses multipart forms: the file is streamed to disk, limited in size and pauses, and deleted when the upload is cut. */
import { randomBytes } from 'node:crypto'
import { createWriteStream, mkdirSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { finished, type Readable } from 'node:stream'
import type { BusboyInstance } from '@fastify/busboy'
import { invalid, messageOf } from '../errors.ts'
import { MAX_BODY_BYTES, ClientDisconnected, receiveBody } from './body.ts'

export type FormFile = {
  /** As sent by the client: not trusted. */
  name: string
  type: string
  size: number
  /** In the given directory, with a generated name. */
  path: string
}

export type Form = Disposable & {
  /** The first value of a name counts; values that are too long are dropped. */
  fields: Readonly<Record<string, string>>
  file: FormFile | undefined
  /** Files of another field were sent, and ignored. */
  hasOtherFiles: boolean
  /** Deletes the file if it has not been moved. Same as disposing the form. */
  discard(): void
}

const LIMITS = {
  files: 1,
  fields: 16,
  parts: 32,
  fieldSize: 8_192,
  headerPairs: 64,
  headerSize: 16_384,
}

const createParser = async (req: IncomingMessage): Promise<BusboyInstance> => {
  const type = req.headers['content-type'] ?? ''
  if (!/^multipart\/form-data\b/i.test(type) || !/;\s*boundary=/i.test(type))
    throw invalid('No boundary in Content-Type')
  // Imported with the first form to keep startup fast.
  const { Busboy } = await import('@fastify/busboy')
  try {
    const headers = { ...req.headers, 'content-type': type }
    return new Busboy({ headers, limits: LIMITS, preservePath: true })
  } catch {
    // The constructor throws on invalid headers only.
    throw invalid('No boundary in Content-Type')
  }
}

const broken = (error: unknown): Error =>
  error instanceof Error && 'code' in error
    ? error
    : invalid(`The form could not be read: ${messageOf(error).slice(0, 200)}`)

/** Writes the stream to a new file, synced; resolves to its size. */
const store = (bytes: Readable, path: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const target = createWriteStream(path, { flags: 'wx', mode: 0o666, flush: true })
    // A truncated part emits an error here; without a listener it would end the process.
    bytes.on('error', error => target.destroy(error))
    finished(target, error => (error ? reject(error) : resolve(target.bytesWritten)))
    bytes.pipe(target)
  })

/** Reads a form. The file is written to `dir`, which is created with mode 0700. */
export const readForm = async (
  req: IncomingMessage,
  dir: string,
  {
    field = 'file',
    idleMs = 30_000,
    maxBytes = MAX_BODY_BYTES,
  }: {
    /** Name of the file field; other files are ignored. */
    field?: string
    /** Longest pause inside the body. */
    idleMs?: number
    /** Limit of the whole form. */
    maxBytes?: number
  } = {},
): Promise<Form> => {
  const parser = await createParser(req)
  // The client may have disconnected during the import.
  if (req.destroyed) throw new ClientDisconnected()
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const path = join(dir, `${randomBytes(12).toString('hex')}.part`)
  const fields: Record<string, string> = Object.create(null)
  const open: { stream?: Readable; file?: FormFile; size?: Promise<number> } = {}
  let hasOtherFiles = false

  parser.on('field', (name, value, _cut, isCut) => {
    if (name !== undefined && !isCut && !(name in fields)) fields[name] = value
  })
  parser.on('file', (name, bytes, filename, _encoding, type) => {
    if (name !== field || open.size) {
      hasOtherFiles = true
      bytes.on('error', () => {
        // An ignored file needs no error handling.
      })
      return void bytes.resume()
    }
    open.stream = bytes
    open.file = { name: filename ?? '', type, size: 0, path }
    open.size = store(bytes, path)
    // Awaited below as well. This handler comes first, so that the rejection is never unhandled.
    open.size.catch(failure => parser.destroy(failure))
  })

  const discard = () => rmSync(path, { force: true })
  try {
    await receive(req, parser, { idleMs, maxBytes })
    if (open.file) open.file.size = await open.size!
  } catch (error) {
    open.stream?.destroy(new Error('cut'))
    // Wait until the file is closed: nothing is written to it afterwards.
    await open.size?.catch(() => 'reported by the first error')
    discard()
    throw error
  }
  return { fields, file: open.file, hasOtherFiles, discard, [Symbol.dispose]: discard }
}

/** Feeds the parser; resolves when it has read the whole form. */
const receive = async (
  req: IncomingMessage,
  parser: BusboyInstance,
  limits: { idleMs: number; maxBytes: number },
): Promise<void> => {
  const failed = new AbortController()
  const finished = new Promise<void>(resolve => parser.on('finish', () => resolve()))
  parser.on('error', error => failed.abort(broken(error)))
  parser.on('drain', () => req.resume())
  try {
    await receiveBody(req, limits, chunk => parser.write(chunk), failed.signal)
  } catch (error) {
    parser.destroy()
    throw error
  }
  parser.end()
  // The body is complete, so a closed connection no longer matters.
  const cut = new Promise<never>((_, reject) =>
    failed.signal.addEventListener('abort', () => reject(failed.signal.reason)),
  )
  await Promise.race([finished, cut])
}
