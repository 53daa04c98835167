/** Requests to the identity provider: bounded in time and size, through the configured proxy, never unencrypted beyond this machine. */
import type { Dispatcher } from 'undici'
import { isLoopbackHost } from '../base/local-network.ts'

const TIMEOUT_MS = 10_000
const MAX_BYTES = 1 << 20

/** Statuses whose responses have no body. */
const EMPTY: ReadonlySet<number> = new Set([101, 103, 204, 205, 304])

/** https, or http to a provider on this machine. What the provider publishes about itself is not trusted to be. */
export const isProtected = ({ protocol, hostname }: URL): boolean =>
  protocol === 'https:' || (protocol === 'http:' && isLoopbackHost(hostname))

type Asked = {
  method: string
  headers: Record<string, string>
  body?: unknown
  signal?: AbortSignal | undefined
}

/** In the form of `fetch`, as the library takes it. Redirects are not followed. */
export const createProviderFetch =
  (dispatcher: Dispatcher | undefined, signal: AbortSignal, timeoutMs = TIMEOUT_MS) =>
  async (address: string, { method, headers, body }: Asked): Promise<Response> => {
    const url = new URL(address)
    if (!isProtected(url)) throw new Error(`${url.origin} is not reached over https`)
    const { request } = await import('undici')
    const reply = await request(url, {
      method: method as Dispatcher.HttpMethod,
      headers,
      body: body === undefined || body === null ? null : String(body),
      // Also limits the body, which a provider could send one byte at a time.
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
      ...(dispatcher && { dispatcher }),
    })
    const chunks: Buffer[] = []
    let size = 0
    for await (const chunk of reply.body) {
      size += chunk.length
      // Leaving the loop destroys the body.
      if (size > MAX_BYTES) throw new Error(`the reply of ${url.host} is too long`)
      chunks.push(chunk)
    }
    const type = reply.headers['content-type']
    return new Response(EMPTY.has(reply.statusCode) ? null : Buffer.concat(chunks), {
      status: reply.statusCode,
      headers: type === undefined ? {} : { 'content-type': String(type) },
    })
  }
