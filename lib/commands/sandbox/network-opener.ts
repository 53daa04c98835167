/**
 * Opens connections for commands in a sandbox. Each destination is checked before its name is resolved, and connected to at
 * the checked address only, so a name cannot change its meaning in between.
 */
import type { LookupAddress } from 'node:dns'
import { lookup } from 'node:dns/promises'
import { once } from 'node:events'
import { connect, isIP, type Socket } from 'node:net'
import type { CheckTarget, NetworkTarget } from '../../agent/tool-services.ts'
import { messageOf } from '../../errors.ts'
import { dialUpstream, joinUpstream, upstreamFor } from './network-upstream.ts'
import { isListed } from '../../base/host-pattern.ts'
import { kindOfAddress, kindOfHost, namesNever } from './network-target.ts'

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

export type OpenerOptions = {
  /** Patterns of hosts that are not asked about. */
  allowed: readonly string[]
  onTarget: CheckTarget
  /** Aborted with the command. */
  ended: AbortSignal
  /** Its `HTTPS_PROXY` is what the internet is reached through. */
  env?: Readonly<Record<string, string>>
  access?: Partial<NetworkAccess>
}

/** Resolves when it is connected; rejects with a Refusal, or because the command has ended. */
export const createOpener = ({ allowed, onTarget, ended, env = {}, access }: OpenerOptions) => {
  const { resolve, dial } = { ...SYSTEM, ...access }

  const ask = async (target: NetworkTarget): Promise<void> => {
    const why = await onTarget(target, ended)
    if (why !== null) throw denied(why)
  }

  /** The addresses that may be connected to, and the proxy instead of them. Throws a Refusal. */
  const admit = async (
    target: NetworkTarget,
  ): Promise<{ addresses: LookupAddress[]; proxy: URL | null }> => {
    const { host } = target
    const kind = kindOfHost(host)
    if (kind === 'never') throw denied(`${host} ${NEVER}`)
    const isAllowed = isListed(allowed, target)
    if (!isAllowed) await ask({ ...target, ...(kind === 'private' && { isPrivate: true }) })
    const proxy = kind === 'public' ? upstreamFor(env, target) : null
    if (isIP(host) !== 0) return { addresses: [{ address: host, family: isIP(host) }], proxy }
    const found = await resolve(host).catch(() => [])
    const kinds = found.map(({ address }) => kindOfAddress(address))
    if (kinds.includes('never')) throw denied(`${host} ${NEVER}`)
    // A proxy may know names that this computer does not.
    if (found.length === 0) {
      if (!proxy) throw new Refusal(`${host} was not found.`, 502, 4)
      if (namesNever(host)) throw denied(`${host} ${NEVER}`)
    }
    // A name of the internet may lead into the person's own network: that is another question.
    const inside = found[kinds.indexOf('private')]
    if (!isAllowed && kind === 'public' && inside)
      await ask({ ...target, isPrivate: true, address: inside.address })
    return { addresses: found, proxy: inside ? null : proxy }
  }

  return async (target: NetworkTarget): Promise<Socket> => {
    const { addresses, proxy } = await admit(target)
    ended.throwIfAborted()
    const socket = proxy ? dialUpstream(proxy) : dial(target, addresses)
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
}
