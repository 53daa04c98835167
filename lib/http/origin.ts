/** Cross-origin and host-name checks against CSRF and DNS rebinding. */
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { forbidden } from '../errors.ts'
import type { Client } from './client-address.ts'
import { hostHint } from './proxy-hints.ts'

type HostPort = { name: string; port: string }

/** `host`, `host:port`, `[v6]:port`; undefined when it is none of these. */
const parseHost = (text: string): HostPort | undefined => {
  const match = /^(\[[0-9a-f:.]+\]|[^:[\]/@\s]+)(?::(\d{1,5}))?$/i.exec(text)
  if (!match) return undefined
  return { name: match[1]!.toLowerCase().replace(/\.$/, ''), port: match[2] ?? '' }
}

/** Parses an Origin or Referer header; undefined unless it is http(s) with a host. */
const parseOrigin = (text: string): URL | undefined => {
  if (!/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text)) return undefined
  return new URL(text)
}

const REJECTED = 'Cross-origin request rejected'

/** `allowed` contains normalized origins (`https://host[:port]`). */
const isSameOrigin = (origin: URL, client: Client, allowed: readonly string[]): boolean => {
  if (allowed.includes(origin.origin)) return true
  const usual = origin.protocol === 'https:' ? '443' : '80'
  const port = origin.port || usual
  return client.hosts.some(text => {
    const host = parseHost(text)
    return host !== undefined && host.name === origin.hostname && (host.port || usual) === port
  })
}

const rejected = (hint: string | null = null) =>
  forbidden(hint === null ? REJECTED : `${REJECTED}. ${hint}`, { code: 'cross_origin' })

/**
 * Throws a 403 for requests from pages of other sites. Programs that send neither Origin nor Referer pass;
 * browsers send Sec-Fetch-Site even when a page suppresses both.
 */
export const checkOrigin = (
  req: IncomingMessage,
  client: Client,
  allowed: readonly string[],
): void => {
  const source = req.headers.origin ?? req.headers.referer
  if (source === undefined || source === '') {
    if (isCrossSite(req)) throw rejected()
    return
  }
  const origin = parseOrigin(source)
  if (!origin) throw rejected()
  if (!isSameOrigin(origin, client, allowed)) throw rejected(hostHint(req, client, origin))
}

/** Sec-Fetch-Site says that a page of another site made the request, by a link or by embedding the URL. */
export const isCrossSite = (req: IncomingMessage): boolean => {
  const site = req.headers['sec-fetch-site']
  return site === 'cross-site' || site === 'same-site'
}

/** Clients choose the texts that are remembered. */
const MAX_KNOWN = 100

/**
 * The host names that a server without a password is asked by. DNS rebinding can point any name at 127.0.0.1 and make its
 * pages same-origin with us; IP addresses cannot be rebound. Each request asks, so answers are remembered.
 */
export class KnownHosts {
  readonly #names: ReadonlySet<string>
  readonly #answers = new Map<string, boolean>()

  /** Known are `localhost`, the name that the server listens on, and those of configured origins. */
  constructor(bindHost: string, allowedOrigins: readonly string[]) {
    const names = allowedOrigins.map(origin => new URL(origin).hostname)
    this.#names = new Set(['localhost', bindHost.toLowerCase(), ...names])
  }

  has(text: string): boolean {
    const cached = this.#answers.get(text)
    if (cached !== undefined) return cached
    const name = parseHost(text)?.name
    const answer =
      name !== undefined &&
      (isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0 ||
        name.endsWith('.localhost') ||
        this.#names.has(name))
    if (this.#answers.size < MAX_KNOWN) this.#answers.set(text, answer)
    return answer
  }
}

export const UNKNOWN_HOST =
  'This host name is not allowed while no password is set; add its origin to AGENT_WEBUI_ALLOWED_ORIGINS or set a password'
