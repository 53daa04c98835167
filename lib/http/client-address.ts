/** Who is really asking: the peer, or what proxies we trust say of the caller before them. */
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, isIPv6 } from 'node:net'
import type { TLSSocket } from 'node:tls'
import ipaddr from 'ipaddr.js'

export type Client = {
  /** The peer, or the first hop (from the right) that is not one of our proxies. */
  readonly address: string
  /** The peer, when `address` is only what it says and nobody has named it as a proxy. */
  readonly via: string | undefined
  /** The socket's peer is this machine and nothing forwarded the request. */
  readonly loopback: boolean
  /** The caller speaks TLS, to us or to the proxy. */
  readonly secure: boolean
  /** Host and port as the caller wrote them; empty when it sent none. */
  readonly host: string
  /** Path the proxy serves us under, without a trailing slash; empty at the root. */
  readonly prefix: string
  /** Every name the service is called by in this request, for the origin check; may hold empty texts. */
  readonly hosts: readonly string[]
}

/** Entries were checked when the configuration was read. */
const toBlockList = (entries: readonly string[]): BlockList => {
  const list = new BlockList()
  for (const entry of entries) {
    const [address = '', bits] = entry.split('/')
    const type = isIPv6(address) ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, type)
    else list.addSubnet(address, Number(bits), type)
  }
  return list
}

/** `::ffff:127.0.0.1` is what a dual-stack socket calls 127.0.0.1; headers also spell it `::ffff:7f00:1`. */
const unmapIpv4 = (address: string): string =>
  /^[0:]*:ffff:/i.test(address) && ipaddr.isValid(address)
    ? ipaddr.process(address).toString()
    : address

/** `1.2.3.4:567` and `[::1]:567` as some proxies write them; undefined when it is no address. */
const parseHop = (text: string): string | undefined => {
  const bare = text.trim().replace(/^\[(.+)\](:\d+)?$/, '$1')
  const address = unmapIpv4(isIP(bare) ? bare : bare.replace(/^([\d.]+):\d+$/, '$1'))
  return isIP(address) ? address : undefined
}

const FORWARDING =
  /^(forwarded|via|x-forwarded(-.+)?|x-real-.+|x-client-ip|x-cluster-client-ip|true-client-ip|cf-connecting-ip)$/

/** Goes into `<base href>` and `Location`: plain segments only, so it can name no other host and no markup. */
const PREFIX = /^(?:\/(?!\.{1,2}(?:\/|$))[A-Za-z0-9._~-]+)+\/?$/

const header = (req: IncomingMessage, name: string): string => {
  const value = req.headers[name]
  return Array.isArray(value) ? value.join(',') : (value ?? '')
}

/** Makes the reader of one service's clients. Everything is worked out on first use: most requests need none of it. */
export const createClientReader = (
  trustedProxies: readonly string[],
  hasTrustedProxies = false,
): ((req: IncomingMessage) => Client) => {
  const trusted = toBlockList(trustedProxies)
  const local = toBlockList(['127.0.0.0/8', '::1'])
  const has = (list: BlockList, address: string) =>
    isIP(address) !== 0 && list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4')

  class RequestClient implements Client {
    readonly #req: IncomingMessage
    #route: { address: string; hops: number } | undefined

    constructor(req: IncomingMessage) {
      this.#req = req
    }

    get #peer(): string {
      return unmapIpv4(this.#req.socket.remoteAddress ?? '')
    }

    /** Walks X-Forwarded-For from the right while the hops are ours; `hops` counts the proxies passed, 0 = none. */
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

    /** The value the outermost trusted proxy saw; proxies either append to the list or replace it. */
    #forwarded(name: string): string {
      const { hops } = this.#walk
      const text = hops === 0 ? '' : header(this.#req, name)
      if (text === '') return ''
      const entries = text.split(',')
      return (entries[Math.max(0, entries.length - hops)] ?? '').trim()
    }

    get address(): string {
      return this.#walk.address
    }

    get via(): string | undefined {
      const { address } = this.#walk
      return hasTrustedProxies || address === this.#peer ? undefined : this.#peer
    }

    get loopback(): boolean {
      return (
        has(local, this.#peer) &&
        !Object.keys(this.#req.headers).some(name => FORWARDING.test(name))
      )
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
      const text = this.#forwarded('x-forwarded-prefix')
      return PREFIX.test(text) ? text.replace(/\/$/, '') : ''
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
