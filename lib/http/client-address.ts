/** The client of a request: the socket's peer, or what trusted proxies report in X-Forwarded-* headers. */
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'
import type { TLSSocket } from 'node:tls'
import ipaddr from 'ipaddr.js'
import { parseBasePath } from '../base/base-path.ts'
import { invalid } from '../errors.ts'

export type Client = {
  /** The peer, or the rightmost address in X-Forwarded-For that is not a trusted proxy. */
  readonly address: string
  /** The peer, when `address` comes from its headers and no proxies were configured. */
  readonly via: string | undefined
  /** The socket's peer is this machine and nothing forwarded the request. */
  readonly loopback: boolean
  /** The client uses TLS, to us or to the proxy. */
  readonly secure: boolean
  /** Host and port as the client sent them; empty when it sent none. */
  readonly host: string
  /** The socket's peer is a trusted proxy. */
  readonly isTrustedPeer: boolean
  /** Path prefix of the proxy (X-Forwarded-Prefix, else AGENT_WEBUI_BASE_PATH), without a trailing slash; empty at the root. */
  readonly prefix: string
  /** Every host name of this server in the request, for the origin check. May contain empty strings. */
  readonly hosts: readonly string[]
}

/** Of a valid address. Node's own test compiles a pattern at its first use, which takes four milliseconds of each start. */
const familyOf = (address: string): 'ipv4' | 'ipv6' => (address.includes(':') ? 'ipv6' : 'ipv4')

/** `entries` were validated when the configuration was read. */
const toBlockList = (entries: readonly string[]): BlockList => {
  const list = new BlockList()
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/')
    const type = familyOf(address)
    if (bits === undefined) list.addAddress(address, type)
    else list.addSubnet(address, Number(bits), type)
  }
  return list
}

/** Maps `::ffff:127.0.0.1` (from dual-stack sockets) and `::ffff:7f00:1` (in headers) to 127.0.0.1. */
const unmapIpv4 = (address: string): string =>
  /^[0:]*:ffff:/i.test(address) && ipaddr.isValid(address)
    ? ipaddr.process(address).toString()
    : address

/** Parses one X-Forwarded-For entry. Some proxies add a port: `1.2.3.4:567`, `[::1]:567`. */
const parseHop = (text: string): string | undefined => {
  const bare = text.trim().replace(/^\[(.+)\](:\d+)?$/, '$1')
  const address = unmapIpv4(isIP(bare) ? bare : bare.replace(/^([\d.]+):\d+$/, '$1'))
  return isIP(address) ? address : undefined
}

const FORWARDING =
  /^(forwarded|via|x-forwarded(-.+)?|x-real-.+|x-client-ip|x-cluster-client-ip|true-client-ip|cf-connecting-ip)$/

/** The first header with which something between the client and us says that it forwarded the request. */
export const forwardingHeader = (req: IncomingMessage): string | undefined =>
  Object.keys(req.headers).find(name => FORWARDING.test(name))

export const isForwarded = (req: IncomingMessage): boolean => forwardingHeader(req) !== undefined

const header = (req: IncomingMessage, name: string): string => {
  const value = req.headers[name]
  return Array.isArray(value) ? value.join(',') : (value ?? '')
}

/** Returns a function that creates the `Client` of a request. Its properties are computed on first use: most requests need none. */
export const createClientReader = (
  trustedProxies: readonly string[],
  { hasTrustedProxies = false, basePath = '' } = {},
): ((req: IncomingMessage) => Client) => {
  const trusted = toBlockList(trustedProxies)
  const local = toBlockList(['127.0.0.0/8', '::1'])
  const has = (list: BlockList, address: string) =>
    isIP(address) !== 0 && list.check(address, familyOf(address))

  class RequestClient implements Client {
    readonly #req: IncomingMessage
    #route: { address: string; hops: number } | undefined

    constructor(req: IncomingMessage) {
      this.#req = req
    }

    get #peer(): string {
      return unmapIpv4(this.#req.socket.remoteAddress ?? '')
    }

    /** Walks X-Forwarded-For from the right past trusted proxies. `hops`: their number, 0 when the peer is not one. */
    get #walk(): { address: string; hops: number } {
      if (this.#route) return this.#route
      let address = this.#peer
      let hops = 0
      if (has(trusted, address)) {
        hops = 1
        const entries = header(this.#req, 'x-forwarded-for').split(',').reverse()
        for (const [i, entry] of entries.entries()) {
          const hop = parseHop(entry)
          if (hop === undefined) break
          address = hop
          hops = i + 1
          if (!has(trusted, hop)) break
        }
      }
      this.#route = { address, hops }
      return this.#route
    }

    /** The value that the outermost trusted proxy received. Proxies either append to a list or replace it. */
    #forwarded(name: string): string {
      const { hops } = this.#walk
      const text = hops === 0 ? '' : header(this.#req, name)
      if (text === '') return ''
      const entries = text.split(',')
      return (entries[Math.max(0, entries.length - hops)] ?? '').trim()
    }

    get isTrustedPeer(): boolean {
      return has(trusted, this.#peer)
    }

    get address(): string {
      return this.#walk.address
    }

    get via(): string | undefined {
      const { address } = this.#walk
      return hasTrustedProxies || address === this.#peer ? undefined : this.#peer
    }

    get loopback(): boolean {
      return has(local, this.#peer) && !isForwarded(this.#req)
    }

    get secure(): boolean {
      return (
        (this.#req.socket as TLSSocket).encrypted === true ||
        this.#forwarded('x-forwarded-proto').toLowerCase() === 'https'
      )
    }

    get host(): string {
      return this.#forwarded('x-forwarded-host') || (this.#req.headers.host ?? '')
    }

    get prefix(): string {
      return parseBasePath(this.#forwarded('x-forwarded-prefix')) || basePath
    }

    get hosts(): readonly string[] {
      return [
        this.#req.headers.host ?? '',
        this.#forwarded('x-forwarded-host'),
        this.#forwarded('x-real-host'),
      ]
    }
  }
  return req => new RequestClient(req)
}

const MAX_USER_CHARS = 320

/**
 * The user whom a trusted proxy names in this header; undefined: none. Throws a 400 when the header comes from anywhere else,
 * so that a wrong setup and a forged request are noticed, and when it is not one plain name. Only the peer of the socket
 * counts: X-Forwarded-For says nothing about who set this header.
 */
export const readUser = (
  { headers, rawHeaders, socket }: IncomingMessage,
  name: string | null | undefined,
  client: () => Client,
): string | undefined => {
  const value = name ? headers[name] : undefined
  if (value === undefined) return undefined
  if (!client().isTrustedPeer)
    throw invalid(
      `The header ${name} is only accepted from proxies in AGENT_WEBUI_TRUSTED_PROXIES, and ${socket.remoteAddress} is none of them. Add it there if it is your proxy.`,
    )
  // Other spellings, which servers before us may take for the same header, are other headers here.
  if (rawHeaders.filter((text, at) => at % 2 === 0 && text.toLowerCase() === name).length !== 1)
    throw invalid(`The header ${name} was sent more than once. Your proxy must replace it.`)
  const user = String(value).trim()
  if (user.length > MAX_USER_CHARS || !/^[\x20-\x7e]*$/.test(user))
    throw invalid(`The header ${name} must be a name of ASCII characters.`)
  return user === '' ? undefined : user
}
