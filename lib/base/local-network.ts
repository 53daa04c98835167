/** Whether a host is this machine, or in a network of one's own, judged by its name or address alone: no name is resolved. */
import { BlockList, isIP, isIPv4 } from 'node:net'

const blockLists = new Map<readonly string[], BlockList>()

/** Made with the first address that is looked up: no start needs one, and it takes milliseconds. */
const blockList = (blocks: readonly string[]): BlockList => {
  const cached = blockLists.get(blocks)
  if (cached) return cached
  const list = new BlockList()
  for (const block of blocks) {
    const [address = '', bits] = block.split('/')
    list.addSubnet(address, Number(bits), block.includes(':') ? 'ipv6' : 'ipv4')
  }
  blockLists.set(blocks, list)
  return list
}

const LOOPBACK = ['127.0.0.0/8', '::1/128']
/** Loopback, link-local, private, and shared ranges. */
const PRIVATE = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.168.0.0/16',
  'fc00::/7',
  'fe80::/10',
  '::/128',
  '::1/128',
]

/** An IPv4-mapped IPv6 address counts as the IPv4 address. */
const isIn = (blocks: readonly string[], address: string): boolean => {
  const plain = address.replace(/^::ffff:(?=\d+\.)/i, '')
  const family = isIP(plain)
  return family !== 0 && blockList(blocks).check(plain, family === 6 ? 'ipv6' : 'ipv4')
}

/** False for names. */
export const isPrivateAddress = (address: string): boolean => isIn(PRIVATE, address)

/** Lower case, without the brackets of IPv6 and the dot of a full name. */
const bareHost = (host: string): string => host.replace(/^\[|\]$|\.$/g, '').toLowerCase()

/** Only `localhost` is loopback by definition; other names depend on DNS. */
export const isLoopbackHost = (host: string): boolean => {
  const bare = bareHost(host)
  // Before the lists, because every start asks.
  if (isIPv4(bare)) return bare.startsWith('127.')
  return /^(?:.*\.)?localhost$/.test(bare) || isIn(LOOPBACK, bare)
}

/** Names that mean this machine or its network, whatever DNS returns. */
const LOCAL_NAME =
  /^(?:localhost|.*\.localhost|.*\.local|.*\.internal|.*\.lan|.*\.intranet|.*\.home\.arpa|metadata)$/

export const isLocalName = (host: string): boolean => LOCAL_NAME.test(bareHost(host))

/** Of this machine or a network of one's own. A name without a dot is of the network: a container, or a computer beside this one. */
export const isLocalUrl = (url: string): boolean => {
  if (!URL.canParse(url)) return false
  const host = bareHost(new URL(url).hostname)
  // `10.0.0.1.example.com` is a public name: ranges hold for addresses only.
  if (isIP(host) !== 0) return isPrivateAddress(host)
  return host !== '' && (!host.includes('.') || isLocalName(host))
}
