/** Keeps other sites out: who may change things from a browser, and under which names we answer at all. */
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { forbidden } from '../errors.ts'
import type { Client } from './client-address.ts'

type HostPort = { name: string; port: string }

/** `host`, `host:port`, `[v6]:port`; undefined when it is none of these. */
export const parseHost = (text: string): HostPort | undefined => {
  const match = /^(\[[0-9a-f:.]+\]|[^:[\]/@\s]+)(?::(\d{1,5}))?$/i.exec(text)
  if (!match) return undefined
  return { name: match[1]!.toLowerCase().replace(/\.$/, ''), port: match[2] ?? '' }
}

/** The origin of an Origin or Referer header; undefined unless it is http(s) with a host. */
const parseOrigin = (text: string): URL | undefined => {
  if (!/^https?:\/\/[^/]/i.test(text) || !URL.canParse(text)) return undefined
  return new URL(text)
}

/** `allowed` holds normalised origins (`https://host[:port]`). */
const isSameOrigin = (origin: URL, client: Client, allowed: readonly string[]): boolean => {
  if (allowed.includes(origin.origin)) return true
  const usual = origin.protocol === 'https:' ? '443' : '80'
  const port = origin.port || usual
  return client.hosts.some(text => {
    const host = parseHost(text)
    return host !== undefined && host.name === origin.hostname && (host.port || usual) === port
  })
}

const rejected = () => forbidden('Cross-origin request rejected', { code: 'cross_origin' })

/**
 * Refuses what another site's page sent (contract §0.6). Programs without Origin and Referer pass, but a browser
 * tells on itself through Sec-Fetch-Site even when a page suppresses both.
 */
export const checkOrigin = (
  req: IncomingMessage,
  client: Client,
  allowed: readonly string[],
): void => {
  const said = req.headers.origin ?? req.headers.referer
  if (said === undefined || said === '') {
    if (isCrossSite(req)) throw rejected()
    return
  }
  const origin = parseOrigin(said)
  if (!origin || !isSameOrigin(origin, client, allowed)) throw rejected()
}

/** A browser says that another site's page has asked, by a link or by embedding the address. */
export const isCrossSite = (req: IncomingMessage): boolean => {
  const site = req.headers['sec-fetch-site']
  return site === 'cross-site' || site === 'same-site'
}

/**
 * Says whether we answer to this name while no password protects us (decision 23): a page on a name that was
 * re-pointed at 127.0.0.1 would otherwise be same-origin with us. An address cannot be re-pointed.
 */
export const createHostCheck = (
  bindHost: string,
  allowedOrigins: readonly string[],
): ((host: string) => boolean) => {
  const names = new Set(['localhost', bindHost.toLowerCase()])
  for (const origin of allowedOrigins) names.add(new URL(origin).hostname)
  const known = new Map<string, boolean>()
  const answers = (text: string): boolean => {
    const host = parseHost(text)
    if (!host) return false
    const { name } = host
    return (
      isIP(name.replace(/^\[(.*)\]$/, '$1')) !== 0 || name.endsWith('.localhost') || names.has(name)
    )
  }
  return text => {
    let answer = known.get(text)
    if (answer === undefined) {
      answer = answers(text)
      // Callers choose this text, so the memory of it is bounded.
      if (known.size < 100) known.set(text, answer)
    }
    return answer
  }
}

export const UNKNOWN_HOST =
  'This host name is not allowed while no password is set; name its origin in AGENT_WEBUI_ALLOWED_ORIGINS or set a password'
