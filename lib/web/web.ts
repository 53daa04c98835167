/** Pages and searches of the public internet for the agent. Here one page is fetched: every address is checked on connect, redirects are followed manually, size and time are limited. */
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { Dispatcher } from 'undici'
import { messageOf, unavailable } from '../errors.ts'
import {
  checkForProxy,
  createGuardedDispatcher,
  type Resolve,
  refusalIn,
} from '../http/guarded-dispatcher.ts'
import { describeNetworkError } from '../http/network-error.ts'
import { type Allow, checkUrl, allowNone } from '../http/public-address.ts'

export type Fetched = { url: string; type: string; charset: string | null; bytes: Buffer }

/** Which addresses may be fetched, and how. */
export type FetchAccess = {
  /** The proxy, if one is configured. It resolves names itself, so ours are checked as far as possible. */
  dispatcher?: Dispatcher | undefined
  resolve?: Resolve | undefined
  allow?: Allow
  /** Throws to reject a URL. Called for each redirect. */
  check?: (url: URL) => void
}

export type FetchOptions = FetchAccess & {
  signal: AbortSignal
  accept: string
  /** Throws to reject a response before its body is read. */
  checkType: (type: string) => void
  maxBytes: number
  timeoutMs: number
}

const MAX_REDIRECTS = 5
const AGENT = 'Mozilla/5.0 (compatible; agent-webui)'

const BECAUSE = 'BECAUSE'

const why = (error: unknown): string => {
  const isOurs = error instanceof Error && 'code' in error && error.code === BECAUSE
  return isOurs ? messageOf(error) : describeNetworkError(error).text
}

/** Worded to follow "could not be read:". */
const because = (text: string): Error => Object.assign(new Error(text), { code: BECAUSE })

const unpackerOf = (encoding: string) => {
  if (/^(?:x-)?gzip$/.test(encoding)) return createGunzip()
  if (encoding === 'br') return createBrotliDecompress()
  return encoding === 'deflate' ? createInflate() : null
}

/** Reads and decompresses the body up to the limit, which stops decompression bombs. */
const readBody = async (body: Readable, encoding: string, maxBytes: number): Promise<Buffer> => {
  const chunks: Buffer[] = []
  let size = 0
  const gather = async (source: AsyncIterable<Buffer>) => {
    for await (const chunk of source) {
      size += chunk.length
      if (size > maxBytes) throw because(`it is larger than ${maxBytes >> 20} MB`)
      chunks.push(chunk)
    }
  }
  const unpacker = unpackerOf(encoding)
  if (unpacker) await pipeline(body, unpacker, gather)
  else await pipeline(body, gather)
  return Buffer.concat(chunks)
}

const headerOf = (value: string | string[] | undefined): string =>
  (Array.isArray(value) ? value[0] : value)?.trim() ?? ''

/** Throws a UserError, or the signal's reason. */
export const fetchPage = async (address: string, options: FetchOptions): Promise<Fetched> => {
  const { dispatcher, resolve, allow = allowNone, check, maxBytes, timeoutMs } = options
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(timeoutMs)])
  const own = dispatcher ? null : await createGuardedDispatcher(allow, { resolve })
  const { request } = await import('undici')
  let url = checkUrl(address, allow)
  try {
    for (let hops = 0; ; hops += 1) {
      check?.(url)
      if (dispatcher) await checkForProxy(url, allow, resolve)
      const answer = await request(url, {
        signal,
        dispatcher: (own ?? dispatcher) as Dispatcher,
        headers: {
          'user-agent': AGENT,
          accept: options.accept,
          'accept-encoding': 'gzip, br, deflate',
        },
      })
      const { statusCode: status, headers, body } = answer
      const drop = () => void body.on('error', () => undefined).destroy()
      const location = headerOf(headers.location)
      if (status >= 300 && status < 400 && location) {
        drop()
        if (hops === MAX_REDIRECTS) throw because('it redirects too often')
        if (!URL.canParse(location, url)) throw because('it redirects to no address')
        url = checkUrl(new URL(location, url).href, allow)
        continue
      }
      if (status < 200 || status >= 300) {
        drop()
        throw because(`it answered with status ${status}`)
      }
      const [type = '', ...parameters] = headerOf(headers['content-type']).split(';')
      const charset = parameters.map(each => /^\s*charset="?([^"\s]+)"?/i.exec(each)?.[1])
      try {
        options.checkType(type.trim().toLowerCase())
      } catch (error) {
        drop()
        throw error
      }
      return {
        url: url.href,
        type: type.trim().toLowerCase(),
        charset: charset.find(Boolean) ?? null,
        bytes: await readBody(body, headerOf(headers['content-encoding']).toLowerCase(), maxBytes),
      }
    }
  } catch (error) {
    if (options.signal.aborted) throw error
    const refusal = refusalIn(error)
    if (refusal) throw refusal
    const reason = why(signal.aborted ? signal.reason : error)
    throw unavailable(`${url.host} could not be read: ${reason}.`)
  } finally {
    void own?.destroy()
  }
}
