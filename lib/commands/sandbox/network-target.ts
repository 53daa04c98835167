/** What the destinations of commands in a sandbox reach. */
import { networkInterfaces } from 'node:os'
import { isIP } from 'node:net'
import { addressKind, isLocalHost, isMetadataHost } from '../../http/public-address.ts'

export type TargetKind = ReturnType<typeof addressKind>

/** The addresses of this computer in all its networks: services that listen on every one of them are reached through these. */
const ownAddresses = (): string[] =>
  Object.values(networkInterfaces()).flatMap(list => (list ?? []).map(({ address }) => address))

export const kindOfAddress = (address: string): TargetKind => addressKind(address, ownAddresses())

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
export const namesNever = (host: string): boolean =>
  [...host.matchAll(NAMED_ADDRESS)].some(
    ([found, separator]) =>
      kindOfAddress(separator ? found.replaceAll('-', '.') : `0x${found}`) === 'never',
  )

/**
 * What a host is known to reach before its name is resolved. A name is resolved only when it may be reached: the lookup alone
 * could carry a secret away.
 */
export const kindOfHost = (host: string): TargetKind => {
  if (isIP(host) !== 0) return kindOfAddress(host)
  if (LOOPBACK_NAME.test(host) || isMetadataHost(host)) return 'never'
  return isLocalHost(host) || !host.includes('.') ? 'private' : 'public'
}
