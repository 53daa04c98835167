/** The JSON body of a POST: bounded in size, time and depth, and always an object. */
import type { IncomingMessage } from 'node:http'
import { isObject, isObjectOrArray } from '../base/json.ts'
import { invalid } from '../errors.ts'

/** Every POST, uploads included (decision 1). */
export const MAX_BODY_BYTES = 20 * 1024 * 1024
const MAX_DEPTH = 100

/** The caller left in the middle of its own sentence: there is nobody to answer. */
export class ClientDisconnected extends Error {}

export const bodyTooLarge = () =>
  invalid('The request body is larger than 20 MB', { code: 'body_too_large' })

export const declaredBytes = (req: IncomingMessage): number =>
  Number(req.headers['content-length'] ?? 0)

export const hasBody = (req: IncomingMessage): boolean =>
  declaredBytes(req) > 0 || req.headers['transfer-encoding'] !== undefined

/** Everything the caller sends, or a refusal after which the rest stays unread. `idleMs`: longest silence. */
const readBytes = (req: IncomingMessage, idleMs: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let size = 0
    const stop = () => {
      clearTimeout(silence)
      req.off('data', take)
      req.off('end', done)
      req.off('close', gone)
      req.off('error', gone)
    }
    const refuse = (error: Error) => {
      stop()
      req.pause()
      reject(error)
    }
    const take = (chunk: Buffer) => {
      size += chunk.length
      if (size > MAX_BODY_BYTES) return refuse(bodyTooLarge())
      chunks.push(chunk)
      silence.refresh()
    }
    const done = () => {
      stop()
      resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size))
    }
    const gone = () => {
      stop()
      // Someone must hear the error that follows a reset, or it would end the process.
      req.on('error', () => {})
      reject(new ClientDisconnected())
    }
    const silence = setTimeout(() => refuse(invalid('The request body stopped arriving')), idleMs)
    req.on('data', take)
    req.on('end', done)
    req.on('close', gone)
    req.on('error', gone)
  })

/** Brackets inside brackets, strings left out. Recursive code further in would overflow its stack. */
const isNestedDeeper = (json: Buffer, limit: number): boolean => {
  if (json.length <= limit) return false
  let depth = 0
  for (let i = 0; i < json.length; i++) {
    const byte = json[i]
    if (byte === 0x22) {
      for (i++; i < json.length && json[i] !== 0x22; i++) if (json[i] === 0x5c) i++
    } else if (byte === 0x7b || byte === 0x5b) {
      if (++depth > limit) return true
    } else if (byte === 0x7d || byte === 0x5d) depth--
  }
  return false
}

/** `__proto__` as an own key becomes a prototype as soon as somebody copies the object key by key. */
const dropProto = (value: unknown): void => {
  const open = [value]
  while (open.length > 0) {
    const item = open.pop()
    if (!isObjectOrArray(item)) continue
    Reflect.deleteProperty(item, '__proto__')
    for (const inner of Object.values(item)) open.push(inner)
  }
}

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** Exported for its cases; the wire side is `readJson`. */
export const parseBody = (data: Buffer): Record<string, unknown> => {
  if (data.length === 0) return {}
  if (isNestedDeeper(data, MAX_DEPTH)) throw invalid('The request body is nested too deeply')
  let value: unknown
  try {
    const text = utf8.decode(data)
    value = text.trim() === '' ? {} : JSON.parse(text)
    // The name may be spelt with escapes; those are rare enough to look whenever there is one.
    if (text.includes('__proto__') || text.includes('\\u00')) dropProto(value)
  } catch {
    // Whatever is wrong with it, to the caller it is one thing.
    throw invalid('The request body is not valid JSON', { code: 'invalid_json' })
  }
  if (!isObject(value)) {
    throw invalid('The request body must be a JSON object')
  }
  return value as Record<string, unknown>
}

export const readJson = async (
  req: IncomingMessage,
  idleMs: number,
): Promise<Record<string, unknown>> => {
  if (declaredBytes(req) > MAX_BODY_BYTES) throw bodyTooLarge()
  return parseBody(await readBytes(req, idleMs))
}
