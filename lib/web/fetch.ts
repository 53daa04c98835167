/** Fetches one page of the public internet: each address checked when it is connected to, each redirect by hand, bounded in size and time. */
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { Dispatcher } from 'undici'
import { messageOf, UserError, unavailable } from '../errors.ts'
import { describeNetworkError } from '../http/network-error.ts'
import { type Allow, checkAddresses, checkUrl, nobody } from './address.ts'

export type Fetched = { url: string; type: string; charset: string | null; bytes: Buffer }

export type FetchDeps = {
  /** Where a proxy is to be used: it looks names up itself, ours are checked as far as we can. */
  dispatcher?: Dispatcher | undefined
  resolve?: (host: string) => Promise<LookupAddress[]>
}

export type FetchOptions = {
  signal: AbortSignal
  allow?: Allow
  /** Refuses by throwing, each address of a chain of redirects. */
  check?: (url: URL) => void
  accept: string
  /** Refuses by throwing, before the body is read. */
  checkType: (type: string) => void
  maxBytes: number
  timeoutMs: number
}

const MAX_REDIRECTS = 5
const AGENT = 'Mozilla/5.0 (compatible; agent-webui)'

const BECAUSE = 'BECAUSE'

const why = (error: unknown): string => {
  const isOurs = error instanceof Error && 'code' in error && error.code === BECAUSE
  return isOurs ? messageOf(error) : describeNetworkError(error)
}

/** Words that follow "could not be read:". */
const because = (text: string): Error => Object.assign(new Error(text), { code: BECAUSE })

/** The refusal inside what a connection made of it. */
const refusalIn = (error: unknown): UserError | null => {
  for (let at = error, depth = 0; at instanceof Error && depth < 5; at = at.cause, depth += 1)
    if (at instanceof UserError) return at
  return null
}

const unpackerOf = (encoding: string) => {
  if (/^(?:x-)?gzip$/.test(encoding)) return createGunzip()
  if (encoding === 'br') return createBrotliDecompress()
  return encoding === 'deflate' ? createInflate() : null
}

/** The whole body, unpacked; stops at the limit, so that nothing small can become something huge. */
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

/** Throws a Refusal with a sentence, or the signal's reason. */
export const createFetch = ({
  dispatcher,
  resolve = host => lookup(host, { all: true }),
}: FetchDeps = {}) => {
  /** What is checked is what is connected to: there is no second look-up that could answer otherwise. */
  const guarded = async (allow: Allow): Promise<Dispatcher> => {
    const { Agent } = await import('undici')
    return new Agent({
      connect: {
        lookup(host, wanted, done) {
          resolve(host)
            .then(found => checkAddresses(host, found, allow))
            .then(
              found => {
                const [first] = found
                if (wanted.all) done(null, [...found])
                else done(null, first?.address ?? '', first?.family ?? 4)
              },
              (error: NodeJS.ErrnoException) => done(error, '', 4),
            )
        },
      },
    })
  }

  /** Behind a proxy: a name that leads into a private network is refused, one we cannot look up is the proxy's. */
  const checkForProxy = async (url: URL, allow: Allow): Promise<void> => {
    const found = await resolve(url.hostname).catch(() => null)
    if (found) checkAddresses(url.hostname, found, allow)
  }

  return async (address: string, options: FetchOptions): Promise<Fetched> => {
    const { allow = nobody, check, maxBytes, timeoutMs } = options
    const signal = AbortSignal.any([options.signal, AbortSignal.timeout(timeoutMs)])
    const own = dispatcher ? null : await guarded(allow)
    const { request } = await import('undici')
    let url = checkUrl(address, allow)
    try {
      for (let hops = 0; ; hops += 1) {
        check?.(url)
        if (dispatcher) await checkForProxy(url, allow)
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
          bytes: await readBody(
            body,
            headerOf(headers['content-encoding']).toLowerCase(),
            maxBytes,
          ),
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
}
export type WebFetch = ReturnType<typeof createFetch>
