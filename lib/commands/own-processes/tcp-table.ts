/** Finds the peer socket of a local TCP connection in /proc/net/tcp and tcp6. */
import { readFileSync } from 'node:fs'
import { endianness } from 'node:os'
import ipaddr from 'ipaddr.js'

export type Endpoint = { address: string; port: number }

/** Addresses in /proc/net/tcp are 32-bit words in host byte order. */
const hexOf = (bytes: readonly number[]): string => {
  const words = Array.from({ length: bytes.length / 4 }, (_, i) => bytes.slice(i * 4, i * 4 + 4))
  return words
    .flatMap(word => (endianness() === 'LE' ? word.toReversed() : word))
    .map(byte => byte.toString(16).padStart(2, '0'))
    .join('')
    .toUpperCase()
}

/** IPv4 connections of an IPv6 socket are in tcp6, as mapped addresses. */
const formsOf = ({ address, port }: Endpoint): [v4: string | undefined, v6: string] => {
  const parsed = ipaddr.process(address.split('%', 1)[0] ?? '')
  const hexPort = port.toString(16).padStart(4, '0').toUpperCase()
  if (parsed.kind() === 'ipv6') return [undefined, `${hexOf(parsed.toByteArray())}:${hexPort}`]
  const v4 = parsed as ipaddr.IPv4
  return [
    `${hexOf(v4.toByteArray())}:${hexPort}`,
    `${hexOf(v4.toIPv4MappedAddress().toByteArray())}:${hexPort}`,
  ]
}

/** The inode is 0 when the socket has been closed. */
type SocketRow = { inode: number; uid: number }

/** Undefined when the table does not list the socket. */
const rowIn = (table: string, local: string, remote: string): SocketRow | undefined => {
  const at = table.indexOf(` ${local} ${remote} `)
  if (at < 0) return undefined
  const line = table.slice(at + 1, table.indexOf('\n', at))
  // local remote st tx:rx tr:when retrnsmt uid timeout inode
  const fields = line.trim().split(/\s+/)
  return { uid: Number(fields[6]), inode: Number(fields[8]) }
}

export type Peer =
  /** Open on this machine. `uid` is the user who created it. */
  | { kind: 'socket'; inode: number; uid: number }
  /** It was on this machine and has been closed. */
  | { kind: 'closed' }
  /** On another machine, or the system does not tell. */
  | { kind: 'unknown' }

const readTable = (name: string): string => {
  try {
    return readFileSync(`/proc/net/${name}`, 'latin1')
  } catch {
    // Without IPv6 there is no such table.
    return ''
  }
}

/** The peer of the connection from `peer` to our socket `own`. */
export const peerOf = (own: Endpoint, peer: Endpoint): Peer => {
  const tables = [readTable('tcp'), readTable('tcp6')]
  const [ours, theirs] = [formsOf(own), formsOf(peer)]
  const find = (
    local: readonly (string | undefined)[],
    remote: readonly (string | undefined)[],
  ) => {
    for (const [i, table] of tables.entries()) {
      const [from, to] = [local[i], remote[i]]
      const row = from !== undefined && to !== undefined ? rowIn(table, from, to) : undefined
      if (row) return row
    }
    return undefined
  }
  const row = find(theirs, ours)
  if (row) return row.inode === 0 ? { kind: 'closed' } : { kind: 'socket', ...row }
  // Not on this machine although it has a local address (the host of a virtual machine, for example) ...
  if (find(ours, theirs)) return { kind: 'unknown' }
  // ... or both ends are closed. Without our listening socket the tables are incomplete.
  const port = `:${own.port.toString(16).padStart(4, '0').toUpperCase()} `
  const isListed = tables.some(table =>
    table.split('\n').some(line => line.includes(port) && / 0A /.test(line)),
  )
  return { kind: isListed ? 'closed' : 'unknown' }
}
