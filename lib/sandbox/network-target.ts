/** What the destinations of commands in a sandbox reach. */
import { networkInterfaces } from 'node:os'
import { isIP } from 'node:net'
import { addressKind, isLocalHost, isMetadataHost } from '../http/public-address.ts'

export type TargetKind = ReturnType<typeof addressKind>

/** The addresses of this computer in all its networks: services that listen on every one of them are reached through these. */
const ownAddresses = (): string[] =>
  Object.values(networkInterfaces()).flatMap(list => (list ?? []).map(({ address }) => address))

export const kindOfAddress = (address: string): TargetKind => addressKind(address, ownAddresses())

/**
 * What a host is known to reach before its name is resolved. A name is resolved only when it may be reached: the lookup alone
 * could carry a secret away.
 */
export const kindOfHost = (host: string): TargetKind => {
  if (isIP(host) !== 0) return kindOfAddress(host)
  if (/(?:^|\.)localhost$/.test(host) || isMetadataHost(host)) return 'never'
  return isLocalHost(host) || !host.includes('.') ? 'private' : 'public'
}
