/**
 * Opens connections for commands in a sandbox. Each destination is checked before its name is resolved, and connected to at
 * the checked address only, so a name cannot change its meaning in between.
 */
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { type Socket, connect, isIP } from 'node:net'
import type { CheckTarget, NetworkTarget } from '../../agent/tool-services.ts'
import { messageOf } from '../../errors.ts'
import { dialUpstream, joinUpstream, upstreamFor } from './network-upstream.ts'
import { isListed } from '../../base/host-pattern.ts'
import { networkInterfaces } from 'node:os'
import { addressKind, isLocalHost, isMetadataHost } from '../../http/public-address.ts'

/** `never`: this computer and services of its network, which nothing may reach. */
type HostKind = 'public' | 'private' | 'never'

/** The addresses of this computer in all its networks: services that listen on every one of them are reached through these. */
const ownAddresses = (): string[] =>
  Object.values(networkInterfaces()).flatMap(list => (list ?? []).map(({ address }) => address))

export const kindOfAddress = (address: string): HostKind => addressKind(address, ownAddresses())

/** The names that systems give to this computer; a proxy resolves them to itself. */
const LOOPBACK_NAME =
  /(?:^|\.)(?:localhost[46]?(?:\.localdomain[46]?)?|ip6-localhost|ip6-loopback)$/

/** Addresses in a name (`127.0.0.1.nip.io`, `a-7f000001.b`), as services of DNS read them. Other eight letters are no address: names of builds look so. */
const NAMED_ADDRESS =
  /(?<![\da-f])(?:\d{1,3}([.-])\d{1,3}\1\d{1,3}\1\d{1,3}|7f[\da-f]{6}|a9fea9fe)(?![\da-f])/g

/**
 * Whether a name that this computer cannot resolve says that it is this computer or a metadata service: the proxy of the
 * network, which resolves it then, may run on this computer and does not check it.
 */
const namesNever = (host: string): boolean =>
  [...host.matchAll(NAMED_ADDRESS)].some(
    ([text, separator]) =>
      kindOfAddress(separator ? text.replaceAll('-', '.') : `0x${text}`) === 'never',
  )

/**
 * What a host is known to reach before its name is resolved. A name is resolved only when it may be reached: the lookup alone
 * could carry a secret away.
 */
export const kindOfHost = (host: string): HostKind => {
  if (isIP(host) !== 0) return kindOfAddress(host)
  if (LOOPBACK_NAME.test(host) || isMetadataHost(host)) return 'never'
  return isLocalHost(host) || !host.includes('.') ? 'private' : 'public'
}

/** Replaced in tests, whose servers are on this computer. */
export type NetworkAccess = {
  resolve: (host: string) => Promise<LookupAddress[]>
  dial: (target: NetworkTarget, addresses: readonly LookupAddress[]) => Socket
}

const CONNECT_MS = 30_000

const SYSTEM: NetworkAccess = {
  resolve: host => lookup(host, { all: true }),
  dial: ({ host, port }, addresses) =>
    connect({
      host,
      port,
      allowHalfOpen: true,
      autoSelectFamily: true,
      lookup: (_, { all }, done) =>
        all
          ? done(null, [...addresses])
          : done(null, addresses[0]?.address ?? '', addresses[0]?.family),
    }),
}

/** Why a destination is not connected to. `status`: of HTTP; `reply`: of SOCKS5. */
export class Refusal extends Error {
  readonly status: number
  readonly reply: number

  constructor(message: string, status: number, reply: number) {
    super(message)
    this.status = status
    this.reply = reply
  }
}

const denied = (sentence: string) => new Refusal(sentence, 403, 2)
const NEVER =
  'is this computer or a service of its network, which no command in the sandbox may reach.'

/** What a command may reach, and who is asked about the rest. */
export type NetworkRules = {
  /** Patterns of hosts that are not asked about. */
  allowed: readonly string[]
  onTarget: CheckTarget
  /** Its `HTTPS_PROXY` is what the internet is reached through. */
  env?: Readonly<Record<string, string>>
  access?: Partial<NetworkAccess>
}

/** Opens the connections of one command. */
export class HostConnector {
  readonly #rules: NetworkRules
  readonly #access: NetworkAccess
  readonly #ended: AbortSignal

  /** `ended` is aborted with the command. */
  constructor(rules: NetworkRules, ended: AbortSignal) {
    this.#rules = rules
    this.#access = { ...SYSTEM, ...rules.access }
    this.#ended = ended
  }

  /** Resolves when it is connected; rejects with a Refusal, or because the command has ended. */
  async connect(target: NetworkTarget): Promise<Socket> {
    const { addresses, proxy } = await this.#admit(target)
    this.#ended.throwIfAborted()
    const socket = proxy ? dialUpstream(proxy) : this.#access.dial(target, addresses)
    const timer = setTimeout(() => socket.destroy(new Error('It took too long.')), CONNECT_MS)
    try {
      await once(
        socket.on('error', () => undefined),
        'connect',
      )
      if (proxy) await joinUpstream(socket, proxy, target)
      return socket
    } catch (error) {
      socket.destroy()
      const why = proxy ? ` through ${proxy.host} (${messageOf(error)})` : ''
      throw new Refusal(`${target.host} could not be connected to${why}.`, 502, 5)
    } finally {
      clearTimeout(timer)
    }
  }

  /** The addresses that may be connected to, and the proxy instead of them. Throws a Refusal. */
  async #admit(target: NetworkTarget): Promise<{ addresses: LookupAddress[]; proxy: URL | null }> {
    const { host } = target
    const kind = kindOfHost(host)
    if (kind === 'never') throw denied(`${host} ${NEVER}`)
    const isAllowed = isListed(this.#rules.allowed, target)
    if (!isAllowed) await this.#ask({ ...target, ...(kind === 'private' && { isPrivate: true }) })
    const proxy = kind === 'public' ? upstreamFor(this.#rules.env ?? {}, target) : null
    if (isIP(host) !== 0) return { addresses: [{ address: host, family: isIP(host) }], proxy }
    const addresses = await this.#access.resolve(host).catch(() => [])
    const kinds = addresses.map(({ address }) => kindOfAddress(address))
    if (kinds.includes('never')) throw denied(`${host} ${NEVER}`)
    // A proxy may know names that this computer does not.
    if (addresses.length === 0) {
      if (!proxy) throw new Refusal(`${host} was not found.`, 502, 4)
      if (namesNever(host)) throw denied(`${host} ${NEVER}`)
    }
    // A name of the internet may lead into the person's own network: that is another question.
    const inside = addresses[kinds.indexOf('private')]
    if (!isAllowed && kind === 'public' && inside)
      await this.#ask({ ...target, isPrivate: true, address: inside.address })
    return { addresses, proxy: inside ? null : proxy }
  }

  async #ask(target: NetworkTarget): Promise<void> {
    const why = await this.#rules.onTarget(target, this.#ended)
    if (why !== null) throw denied(why)
  }
}
