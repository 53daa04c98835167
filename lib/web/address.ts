/** Which addresses may be asked in the name of a model: those of the public internet, and no others. */
import type { LookupAddress } from 'node:dns'
import ipaddr from 'ipaddr.js'
import { forbidden, invalid } from '../errors.ts'

/** True for what may be asked all the same: a network the person has opened. */
export type Allow = (address: string) => boolean

export const nobody: Allow = () => false

/** What an IPv6 address carries inside, where it is only another way to write an IPv4 one. */
const embedded = (address: ipaddr.IPv6): ipaddr.IPv4 | null => {
  const bytes = address.toByteArray()
  const at = (start: number) => new ipaddr.IPv4(bytes.slice(start, start + 4))
  const range = address.range()
  const isCompatible = address.parts.slice(0, 6).every(part => part === 0)
  if (isCompatible || range === 'ipv4Mapped' || range === 'rfc6145' || range === 'rfc6052')
    return at(12)
  return range === '6to4' ? at(2) : null
}

/** Loopback, private, shared, link-local (cloud metadata among it), multicast, documentation and every other reserved range are not. */
export const isPublicAddress = (text: string): boolean => {
  // A zone names an interface of this machine.
  if (text.includes('%') || !ipaddr.isValid(text)) return false
  const address = ipaddr.parse(text)
  if (address.kind() === 'ipv4') return address.range() === 'unicast'
  const wide = address as ipaddr.IPv6
  const inner = embedded(wide)
  if (inner) return inner.range() === 'unicast'
  // Of IPv6 only 2000::/3 is given to anybody.
  return wide.range() === 'unicast' && ((wide.parts[0] ?? 0) & 0xe000) === 0x2000
}

/** Where machines of a cloud are told their keys: by address, in any spelling, or by name. */
export const isMetadataHost = (host: string): boolean => {
  const bare = host.replace(/^\[|\]$/g, '').toLowerCase()
  if (!ipaddr.isValid(bare)) return /(?:^|\.)metadata(?:\.|$)/.test(bare)
  const address = ipaddr.parse(bare)
  const inner = address.kind() === 'ipv6' ? embedded(address as ipaddr.IPv6) : address
  return (inner ?? address).range() === 'linkLocal' || address.toString() === 'fd00:ec2::254'
}

const literalOf = (host: string): string | null => {
  const bare = host.replace(/^\[|\]$/g, '')
  return ipaddr.isValid(bare) ? bare : null
}

export const refusePrivate = (host: string) =>
  forbidden(`${host} is not on the public internet, so it is not fetched.`)

/** Names that mean this machine or its network, whatever a resolver says of them. */
const LOCAL_NAME =
  /^(?:localhost|.*\.localhost|.*\.local|.*\.internal|.*\.lan|.*\.intranet|.*\.home\.arpa|metadata)$/

/** A plain http(s) address; refuses numbers of other networks in every way they can be written (the URL parser knows them all). */
export const checkUrl = (text: string, allow: Allow): URL => {
  const url = URL.canParse(text.trim()) ? new URL(text.trim()) : null
  if (!url || !/^https?:$/.test(url.protocol))
    throw invalid(`"${text.slice(0, 200)}" is not an http:// or https:// address.`)
  if (url.username || url.password)
    throw invalid('An address with a user name or password in it is not fetched.')
  const host = url.hostname.replace(/\.$/, '').toLowerCase()
  const literal = literalOf(host)
  if (literal !== null) {
    if (!isPublicAddress(literal) && !allow(literal)) throw refusePrivate(url.hostname)
  } else if (LOCAL_NAME.test(host) && !allow(host)) throw refusePrivate(url.hostname)
  return url
}

/** What a name leads to; one address of another network among them is enough to refuse it. */
export const checkAddresses = (
  host: string,
  found: readonly LookupAddress[],
  allow: Allow,
): readonly LookupAddress[] => {
  const isFine = ({ address }: LookupAddress) => isPublicAddress(address) || allow(address)
  if (found.length === 0 || !found.every(isFine)) throw refusePrivate(host)
  return found
}
