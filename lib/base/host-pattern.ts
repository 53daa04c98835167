/** Destinations as they are written, and patterns that name them. Uses Node: not for the page. */
import { isIP } from 'node:net'

export type HostAndPort = { host: string; port: number }

/**
 * Reads `host:port`, as the parser of URLs does: it resolves every spelling of an address (`0x7f.1`, `[::ffff:7f00:1]`,
 * fullwidth digits) and writes other alphabets in ASCII. Null: it is not one.
 */
export const readTarget = (authority: string): HostAndPort | null => {
  // What follows one of these would be no part of the host.
  if (/[\s/?#@\\]/.test(authority) || !/:\d+$/.test(authority)) return null
  const address = `http://${authority}`
  if (!URL.canParse(address)) return null
  const url = new URL(address)
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '')
  const port = Number(url.port || 80)
  return host === '' || port === 0 ? null : { host, port }
}

const NAME = /^(?:[a-z0-9_-]+\.)*[a-z0-9_-]+$/

/** A host as in `registry.npmjs.org`, `*.github.com` (its subdomains), `10.0.0.5:5432`, `[fd00::5]`; a port is optional. */
const readPattern = (text: string): { host: string; isSuffix: boolean; port?: number } | null => {
  const [, name = '', port] = /^(\[[^\]]+\]|[^:]+)(?::(\d{1,5}))?$/.exec(text.trim()) ?? []
  const isSuffix = name.startsWith('*.')
  const target = readTarget(`${isSuffix ? name.slice(2) : name}:${port ?? 80}`)
  if (target === null) return null
  // A word alone is more likely a program than a host.
  const isClear = isSuffix || port !== undefined || target.host.includes('.')
  const isName = isClear && NAME.test(target.host)
  if (isIP(target.host) === 0 ? !isName : isSuffix) return null
  return { host: target.host, isSuffix, ...(port !== undefined && { port: target.port }) }
}

export const isHostPattern = (text: string): boolean => readPattern(text) !== null

/** Whether a list of patterns names the destination. Without a port, a pattern is for all ports. */
export const isListed = (patterns: readonly string[], { host, port }: HostAndPort): boolean =>
  patterns.some(text => {
    const pattern = readPattern(text)
    if (pattern === null || (pattern.port !== undefined && pattern.port !== port)) return false
    return pattern.isSuffix ? host.endsWith(`.${pattern.host}`) : host === pattern.host
  })
