/** A multipart form whose one file goes to the disk as it arrives: bounded in size and silence, and nothing of it stays when it is cut. */
import { randomBytes } from 'node:crypto'
import { createWriteStream, mkdirSync, rmSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { finished, type Readable } from 'node:stream'
import type { BusboyInstance } from '@fastify/busboy'
import { invalid, messageOf } from '../errors.ts'
import { MAX_BODY_BYTES, ClientDisconnected, bodyTooLarge } from './body.ts'

export type FormFile = {
  /** As the caller says: to be distrusted. */
  name: string
  type: string
  size: number
  /** In the given directory, under a name of ours. */
  path: string
}

export type Form = Disposable & {
  /** First value wins; of a field that is too long, nothing. */
  fields: Readonly<Record<string, string>>
  file: FormFile | undefined
  /** Removes the file, if it is still where it was put. The same as disposing of the form. */
  discard(): void
}

export type FormOptions = {
  /** Name of the field that holds the file; other files are passed over. */
  field?: string
  /** Longest silence inside the body. */
  idleMs?: number
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
  // Loaded with the first form: no start needs it.
  const { Busboy } = await import('@fastify/busboy')
  try {
    const headers = { ...req.headers, 'content-type': type }
    return new Busboy({ headers, limits: LIMITS, preservePath: true })
  } catch {
    // Whatever is wrong with the header, it is the caller's.
    throw invalid('No boundary in Content-Type')
  }
}

const broken = (error: unknown): Error =>
  error instanceof Error && 'code' in error
    ? error
    : invalid(`The form could not be read: ${messageOf(error).slice(0, 200)}`)

/** Settles when the file's bytes are on the disk, or when they never will be. */
const store = (bytes: Readable, path: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const target = createWriteStream(path, { flags: 'wx', mode: 0o666, flush: true })
    // A part that ends early says so here; without an ear it would end the process.
    bytes.on('error', error => target.destroy(error))
    finished(target, error => (error ? reject(error) : resolve(target.bytesWritten)))
    bytes.pipe(target)
  })

/** The file is put into `dir`, which is made when it is missing, private to the user. */
export const readForm = async (
  req: IncomingMessage,
  dir: string,
  { field = 'file', idleMs = 30_000 }: FormOptions = {},
): Promise<Form> => {
  const parser = await createParser(req)
  // Nobody listened meanwhile.
  if (req.destroyed) throw new ClientDisconnected()
  mkdirSync(dir, { recursive: true, mode: 0o700 })
  const path = join(dir, `${randomBytes(12).toString('hex')}.part`)
  const fields: Record<string, string> = Object.create(null)
  const open: { stream?: Readable; file?: FormFile; stored?: Promise<number> } = {}

  parser.on('field', (name, value, _cut, isCut) => {
    if (name !== undefined && !isCut && !(name in fields)) fields[name] = value
  })
  parser.on('file', (name, bytes, filename, _encoding, type) => {
    if (name !== field || open.stored) {
      bytes.on('error', () => {
        // Nobody wants it, nobody misses it.
      })
      return void bytes.resume()
    }
    open.stream = bytes
    open.file = { name: filename ?? '', type, size: 0, path }
    open.stored = store(bytes, path)
    // Heard below as well; but never later than the process would ask.
    open.stored.catch(failure => parser.destroy(failure))
  })

  const discard = () => rmSync(path, { force: true })
  try {
    await receive(req, parser, idleMs)
    if (open.file) open.file.size = await open.stored!
  } catch (error) {
    open.stream?.destroy(new Error('cut'))
    // Only when the file is closed can nothing be written any more.
    await open.stored?.catch(() => 'told by the first error')
    discard()
    throw error
  }
  return { fields, file: open.file, discard, [Symbol.dispose]: discard }
}

/** Feeds the parser; counts what really comes, whatever was announced. The request stays alive for the answer. */
const receive = (req: IncomingMessage, parser: BusboyInstance, idleMs: number): Promise<void> =>
  new Promise((resolve, reject) => {
    let size = 0
    const stop = () => {
      clearTimeout(silence)
      req.off('data', take)
      req.off('end', end)
      req.off('close', gone)
      req.off('error', gone)
    }
    const refuse = (error: Error) => {
      stop()
      req.pause()
      parser.destroy()
      reject(error)
    }
    const take = (chunk: Buffer) => {
      size += chunk.length
      silence.refresh()
      if (size > MAX_BODY_BYTES) return refuse(bodyTooLarge())
      if (!parser.write(chunk)) req.pause()
    }
    const end = () => {
      // All is here; that the connection closes now means nothing any more.
      stop()
      parser.end()
    }
    const gone = () => {
      // Someone must hear the error that follows a reset, or it would end the process.
      req.on('error', () => 'told by close')
      refuse(new ClientDisconnected())
    }
    const silence = setTimeout(() => refuse(invalid('The request body stopped arriving')), idleMs)
    parser.on('drain', () => req.resume())
    parser.on('error', error => refuse(broken(error)))
    parser.on('finish', () => {
      stop()
      resolve()
    })
    req.on('data', take)
    req.on('end', end)
    req.on('close', gone)
    req.on('error', gone)
  })
