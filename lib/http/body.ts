/** Reads JSON request bodies: limited in size, time and nesting, and always an object. */
import type { IncomingMessage } from 'node:http'
import { isObject, isObjectOrArray } from '../base/json.ts'
import { invalid } from '../errors.ts'

/** Limit of a request body, uploads included. Only imports of other products' files have a limit of their own (`handlers/imports.ts`). */
export const MAX_BODY_BYTES = 20 * 1024 * 1024
const MAX_DEPTH = 100

/** The client closed the connection while sending its request, so no response is possible. */
export class ClientDisconnected extends Error {}

export const bodyTooLarge = (maxBytes = MAX_BODY_BYTES) => {
  const max = maxBytes / 1024 ** 2
  return invalid(`The request body is larger than ${max} MB`, {
    code: 'body_too_large',
    values: { max },
  })
}

export const declaredBytes = (req: IncomingMessage): number =>
  Number(req.headers['content-length'] ?? 0)

export const hasBody = (req: IncomingMessage): boolean =>
  declaredBytes(req) > 0 || req.headers['transfer-encoding'] !== undefined

/**
 * Passes each chunk of the body to `take`, which pauses it by returning false; resolves at its end. Rejects when it is too large, by
 * what arrives and not by Content-Length, when it pauses longer than `idleMs`, or when `signal` is aborted; the rest then
 * stays unread, and the request open for the response.
 */
export const receiveBody = (
  req: IncomingMessage,
  { idleMs, maxBytes = MAX_BODY_BYTES }: { idleMs: number; maxBytes?: number },
  take: (chunk: Buffer) => boolean,
  signal?: AbortSignal,
): Promise<void> =>
  new Promise((resolve, reject) => {
    let size = 0
    const stop = () => {
      clearTimeout(silence)
      req.off('data', receive)
      req.off('end', done)
      req.off('close', onClose)
      req.off('error', onClose)
      signal?.removeEventListener('abort', aborted)
    }
    const refuse = (error: Error) => {
      stop()
      req.pause()
      reject(error)
    }
    const receive = (chunk: Buffer) => {
      size += chunk.length
      silence.refresh()
      if (size > maxBytes) refuse(bodyTooLarge(maxBytes))
      else if (!take(chunk)) req.pause()
    }
    const done = () => {
      stop()
      resolve()
    }
    const onClose = () => {
      // A reset emits another error; without a listener it would end the process.
      req.on('error', () => 'reported by close')
      refuse(new ClientDisconnected())
    }
    const aborted = () => refuse(signal?.reason)
    const silence = setTimeout(() => refuse(invalid('The request body stopped arriving')), idleMs)
    req.on('data', receive)
    req.on('end', done)
    req.on('close', onClose)
    req.on('error', onClose)
    signal?.addEventListener('abort', aborted)
  })

/** Whether brackets nest deeper than `limit`. Deep values would overflow the stack of recursive code. */
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

/** Removes own `__proto__` keys: copying an object key by key would turn one into its prototype. */
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

/** Parses a JSON body; an empty one is `{}`. Throws a 400. */
export const parseBody = (data: Buffer): Record<string, unknown> => {
  if (data.length === 0) return {}
  if (isNestedDeeper(data, MAX_DEPTH)) throw invalid('The request body is nested too deeply')
  let value: unknown
  try {
    const text = utf8.decode(data)
    value = text.trim() === '' ? {} : JSON.parse(text)
    // The key may be written with \u escapes, which are rare.
    if (text.includes('__proto__') || text.includes('\\u00')) dropProto(value)
  } catch {
    // Invalid UTF-8 and invalid JSON are the same to the client.
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
  const chunks: Buffer[] = []
  await receiveBody(req, { idleMs }, chunk => chunks.push(chunk) > 0)
  return parseBody(Buffer.concat(chunks))
}
