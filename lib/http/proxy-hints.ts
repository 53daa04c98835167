/** Sentences for a reverse proxy that withholds a header: which one is missing, and the line that adds it. */
import type { IncomingMessage } from 'node:http'
import { parseBasePath } from '../base/base-path.ts'
import { type Client, forwardingHeader, isForwarded } from './client-address.ts'

const NGINX_HOST = 'nginx: proxy_set_header Host $http_host;'
const NGINX_PROTO = 'nginx: proxy_set_header X-Forwarded-Proto $scheme;'

const trustHint = (req: IncomingMessage, header: string): string =>
  `${header} of ${req.socket.remoteAddress} was ignored. If that is your proxy, add the address to AGENT_WEBUI_TRUSTED_PROXIES.`

/**
 * Why a page of our own looks like one of another site. Null when it may well be another site: only the browser, in
 * Sec-Fetch-Site, or a forwarding header says that it is not.
 */
export const hostHint = (req: IncomingMessage, client: Client, origin: URL): string | null => {
  const site = req.headers['sec-fetch-site']
  if (site === undefined ? !isForwarded(req) : site !== 'same-origin') return null
  const forwarded = req.headers['x-forwarded-host']
  if (forwarded === origin.host && !client.isTrustedPeer) return trustHint(req, 'X-Forwarded-Host')
  const header = client.isTrustedPeer && forwarded !== undefined ? 'X-Forwarded-Host' : 'Host'
  const port = client.host === origin.hostname ? ', without the port' : ''
  return `The browser is at ${origin.origin}, but the request arrived with "${header}: ${client.host}"${port}. Your reverse proxy must pass the Host header on (${NGINX_HOST}).`
}

/** A browser uses HTTPS, and its proxy does not say so. Null when that cannot be known. */
export const schemeHint = (req: IncomingMessage, client: Client): string | null => {
  if (client.secure || !req.headers.origin?.startsWith('https://')) return null
  if (req.headers['x-forwarded-proto'] === 'https' && !client.isTrustedPeer)
    return trustHint(req, 'X-Forwarded-Proto')
  return `Your reverse proxy must send "X-Forwarded-Proto: https" (${NGINX_PROTO}). Until then, sign-in cookies are not limited to HTTPS, and passkeys and single sign-on do not work.`
}

/** What a proxy withholds of a request that may come from anywhere; null when all is there, or there is no proxy. */
export const forwardedProblem = (req: IncomingMessage, client: Client): string | null => {
  const ignored = client.isTrustedPeer ? undefined : forwardingHeader(req)
  // Node has lower-cased it.
  const name = ignored?.replace(/\b[a-z]/g, letter => letter.toUpperCase())
  return name === undefined ? schemeHint(req, client) : trustHint(req, name)
}

/** Deeper paths than this are no base path that anyone would choose, and each segment costs a lookup. */
const MAX_SEGMENTS = 4

/**
 * For a path that is not ours, but would be without its first segments: the proxy keeps a base path that the service does
 * not know. `isKnown` tells whether such a rest is a public path or the first page, so that the reply says nothing about others.
 */
export const prefixHint = (path: string, isKnown: (rest: string) => boolean): string | null => {
  const segments = path.split('/').slice(1, MAX_SEGMENTS + 1)
  for (let n = 1; n <= segments.length; n++) {
    const prefix = `/${segments.slice(0, n).join('/')}`
    if (parseBasePath(prefix) !== prefix) return null
    if (isKnown(path.slice(prefix.length)))
      return `Not found. If your reverse proxy serves this below ${prefix}, set AGENT_WEBUI_BASE_PATH=${prefix}, or make the proxy send "X-Forwarded-Prefix: ${prefix}".`
  }
  return null
}
