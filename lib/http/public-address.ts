/** SSRF guard: only addresses of the public internet may be fetched for a model. */
import type { LookupAddress } from 'node:dns'
import ipaddr from 'ipaddr.js'
import { isLocalName } from '../base/local-network.ts'
import { forbidden, invalid } from '../errors.ts'

/** True for addresses the user has allowed in addition, for example a local network. */
export type Allow = (address: string) => boolean

export const allowNone: Allow = () => false

/** The IPv4 address embedded in an IPv6 address, if it is only another form of it. */
const embedded = (address: ipaddr.IPv6): ipaddr.IPv4 | null => {
  const bytes = address.toByteArray()
  const at = (start: number) => new ipaddr.IPv4(bytes.slice(start, start + 4))
  const range = address.range()
  const isCompatible = address.parts.slice(0, 6).every(part => part === 0)
  if (isCompatible || range === 'ipv4Mapped' || range === 'rfc6145' || range === 'rfc6052')
    return at(12)
  return range === '6to4' ? at(2) : null
}

/** Of clouds whose metadata service is not link-local: AWS over IPv6, Alibaba, Oracle, Azure (in a public range). */
const METADATA = new Set(['fd00:ec2::254', '100.100.100.200', '192.0.0.192', '168.63.129.16'])

/** False for loopback, private, shared, link-local, cloud metadata, multicast, documentation, and all other reserved ranges. */
export const isPublicAddress = (text: string): boolean => {
  // A zone id names an interface of this machine.
  if (text.includes('%') || !ipaddr.isValid(text) || isMetadataHost(text)) return false
  const address = ipaddr.parse(text)
  if (address.kind() === 'ipv4') return address.range() === 'unicast'
  const wide = address as ipaddr.IPv6
  const inner = embedded(wide)
  if (inner) return inner.range() === 'unicast'
  // Only 2000::/3 is global unicast (RFC 4291).
  return wide.range() === 'unicast' && ((wide.parts[0] ?? 0) & 0xe000) === 0x2000
}

/** Cloud metadata services, by address in any notation, or by name. */
export const isMetadataHost = (host: string): boolean => {
  const bare = host.replace(/^\[|\]$/g, '').toLowerCase()
  if (!ipaddr.isValid(bare)) return /(?:^|\.)(?:metadata|instance-data)(?:\.|$)/.test(bare)
  const address = ipaddr.parse(bare)
  const inner = address.kind() === 'ipv6' ? embedded(address as ipaddr.IPv6) : address
  const plain = inner ?? address
  return plain.range() === 'linkLocal' || METADATA.has(plain.toString())
}

/** Ranges of networks that a person may have at home or at work. */
const PRIVATE_RANGES = new Set(['private', 'carrierGradeNat', 'uniqueLocal'])
/** Reserved for benchmarks; some VPN programs answer every name with an address of it. */
const BENCHMARKS = ipaddr.IPv4.parseCIDR('198.18.0.0/15')

/**
 * What a connection to an address reaches. `never`: this computer (`own` are addresses of its interfaces), metadata
 * services, and all that is no single computer.
 */
export const addressKind = (
  text: string,
  own: readonly string[] = [],
): 'public' | 'private' | 'never' => {
  if (text.includes('%') || !ipaddr.isValid(text)) return 'never'
  const address = ipaddr.parse(text)
  const plain = (address.kind() === 'ipv6' && embedded(address as ipaddr.IPv6)) || address
  const isOwn = own.some(each => ipaddr.isValid(each) && isSame(ipaddr.parse(each), plain))
  if (isOwn || METADATA.has(plain.toString())) return 'never'
  const isBenchmark = plain.kind() === 'ipv4' && (plain as ipaddr.IPv4).match(BENCHMARKS)
  if (isBenchmark || PRIVATE_RANGES.has(plain.range())) return 'private'
  return isPublicAddress(text) ? 'public' : 'never'
}

const isSame = (one: ipaddr.IPv4 | ipaddr.IPv6, other: ipaddr.IPv4 | ipaddr.IPv6): boolean =>
  one.toNormalizedString() === other.toNormalizedString()

const literalOf = (host: string): string | null => {
  const bare = host.replace(/^\[|\]$/g, '')
  return ipaddr.isValid(bare) ? bare : null
}

const refusePrivate = (host: string) =>
  forbidden(`${host} is not on the public internet, so it is not fetched.`)

/** Whether a host name says that it is this machine or in its network. A name of the internet that resolves to one is not. */
export const isLocalHost = (host: string): boolean => {
  const literal = literalOf(host)
  return literal === null ? isLocalName(host) : !isPublicAddress(literal)
}

/** Parses an http(s) URL; throws for IP addresses of other networks in any notation (the URL parser normalizes them). */
export const checkUrl = (text: string, allow: Allow): URL => {
  const url = URL.parse(text.trim())
  if (!url || !/^https?:$/.test(url.protocol))
    throw invalid(`"${text.slice(0, 200)}" is not an http:// or https:// address.`)
  if (url.username || url.password)
    throw invalid('An address with a user name or password in it is not fetched.')
  const host = url.hostname.replace(/\.$/, '').toLowerCase()
  const literal = literalOf(host)
  if (literal !== null) {
    if (!isPublicAddress(literal) && !allow(literal)) throw refusePrivate(url.hostname)
  } else if (isLocalName(host) && !allow(host)) throw refusePrivate(url.hostname)
  return url
}

/** Resolves a name; throws if any of its addresses is in another network. */
export const checkAddresses = (
  host: string,
  addresses: readonly LookupAddress[],
  allow: Allow,
): readonly LookupAddress[] => {
  const isFine = ({ address }: LookupAddress) => isPublicAddress(address) || allow(address)
  if (addresses.length === 0 || !addresses.every(isFine)) throw refusePrivate(host)
  return addresses
}
