/**
 * `fetch` for the addresses that an MCP server names for a sign-in. A server on the internet must not make us send requests
 * to this machine or its network; a server on this network may name others on it, but never a cloud metadata service.
 */
import { sentence } from '../../base/sentences.ts'
import type { FetchLike } from '@modelcontextprotocol/client'
import type { Dispatcher } from 'undici'
import { isLoopbackHost } from '../../base/local-network.ts'
import { invalid, unavailable, type UserError } from '../../errors.ts'
import { checkForProxy, createGuardedDispatcher, refusalIn } from '../../http/guarded-dispatcher.ts'
import {
  type Allow,
  allowNone,
  checkUrl,
  isLocalHost,
  isMetadataHost,
} from '../../http/public-address.ts'

export type AuthFetchOptions = {
  /** The address of the MCP server. */
  serverUrl: string
  /** `browser.allow_private_urls` of the profile. */
  allowPrivate: boolean
  dispatcher: Dispatcher | undefined
  signal?: AbortSignal
}

/** Metadata and token responses have a few kilobytes. */
const MAX_BYTES = 1024 * 1024
const TIMEOUT_MS = 10_000

const allowOf = ({ serverUrl, allowPrivate }: AuthFetchOptions): Allow =>
  allowPrivate || isLocalHost(new URL(serverUrl).hostname)
    ? host => !isMetadataHost(host)
    : allowNone

/** Tokens and codes are sent over TLS only, except on this machine (RFC 8252 §8.3). */
export const requireTls = (url: URL): URL => {
  if (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackHost(url.hostname)))
    return url
  throw invalid(`${url.origin} is not an https address, so no sign-in is possible there.`, {
    code: 'mcp_not_https',
    values: { host: url.origin },
  })
}

/** Limited after decompression: half a kilobyte can unpack to hundreds of megabytes. */
const readBody = async (
  chunks: AsyncIterable<Uint8Array> | [],
): Promise<Uint8Array<ArrayBuffer>> => {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.byteLength
    if (size > MAX_BYTES) throw unavailable(sentence('oauth.too_large'))
    parts.push(chunk)
  }
  return Buffer.concat(parts)
}

export class AuthFetch {
  readonly #options: AuthFetchOptions
  /** Why the last address was not requested; the library reports it as a missing document. */
  refusal: UserError | null = null

  constructor(options: AuthFetchOptions) {
    this.#options = options
  }

  readonly fetch: FetchLike = async (address, init) => {
    try {
      return await this.#send(address, init)
    } catch (error) {
      this.refusal = refusalIn(error) ?? this.refusal
      throw refusalIn(error) ?? error
    }
  }

  readonly #send: FetchLike = async (address, init) => {
    const { dispatcher: proxy, signal: stopped } = this.#options
    const allow = allowOf(this.#options)
    const url = requireTls(checkUrl(String(address), allow))
    if (proxy) await checkForProxy(url, allow)
    const direct = proxy ? null : await createGuardedDispatcher(allow)
    const { fetch } = await import('undici')
    type Init = Parameters<typeof fetch>[1]
    const signals = [init?.signal, stopped, AbortSignal.timeout(TIMEOUT_MS)]
    const signal = AbortSignal.any(signals.filter(each => each instanceof AbortSignal))
    const dispatcher = direct ?? proxy
    try {
      // The library follows redirects itself, within one origin, with a request of its own for each.
      const own = { dispatcher, signal, redirect: 'manual' }
      const answer = await fetch(url, { ...(init as object), ...own } as Init)
      const body = await readBody(answer.body ?? [])
      // The library looks at the class, and Node's fetch is a copy of undici's: the same class under another name.
      return new Response(body.byteLength > 0 ? body : null, {
        status: answer.status,
        headers: [...answer.headers],
      })
    } finally {
      void direct?.destroy()
    }
  }
}
