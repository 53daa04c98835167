/** The kernel's list of TCP connections: which socket is at the other end of one of ours. */
import { readFileSync } from 'node:fs'
import { endianness } from 'node:os'
import ipaddr from 'ipaddr.js'

export type Endpoint = { address: string; port: number }

/** As /proc/net/tcp and tcp6 write it: words of 32 bits in the order of this machine. */
const hexOf = (bytes: readonly number[]): string => {
  const words = Array.from({ length: bytes.length / 4 }, (_, i) => bytes.slice(i * 4, i * 4 + 4))
  return words
    .flatMap(word => (endianness() === 'LE' ? word.toReversed() : word))
    .map(byte => byte.toString(16).padStart(2, '0'))
    .join('')
    .toUpperCase()
}

/** IPv4 connections of an IPv6 socket are in the table of IPv6. */
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

/** The connection's socket inode; 0 when its program has closed it, undefined when the table does not have it. */
const inodeIn = (table: string, local: string, remote: string): number | undefined => {
  const at = table.indexOf(` ${local} ${remote} `)
  if (at < 0) return undefined
  const line = table.slice(at + 1, table.indexOf('\n', at))
  // local remote st tx:rx tr:when retrnsmt uid timeout inode
  return Number(line.trim().split(/\s+/)[8])
}

export type Peer =
  /** A program on this machine holds it. */
  | { kind: 'socket'; inode: number }
  /** It was on this machine and has been closed. */
  | { kind: 'closed' }
  /** Elsewhere, or this system does not say. */
  | { kind: 'unknown' }

const readTable = (name: string): string => {
  try {
    return readFileSync(`/proc/net/${name}`, 'latin1')
  } catch {
    // Without IPv6 there is no such table.
    return ''
  }
}

/** What is at the other end of the connection from `peer` to our `own`. */
export const peerOf = (own: Endpoint, peer: Endpoint): Peer => {
  const tables = [readTable('tcp'), readTable('tcp6')]
  const [ours, theirs] = [formsOf(own), formsOf(peer)]
  const find = (
    local: readonly (string | undefined)[],
    remote: readonly (string | undefined)[],
  ) => {
    for (const [i, table] of tables.entries()) {
      const [from, to] = [local[i], remote[i]]
      const inode = from !== undefined && to !== undefined ? inodeIn(table, from, to) : undefined
      if (inode !== undefined) return inode
    }
    return undefined
  }
  const inode = find(theirs, ours)
  if (inode !== undefined) return inode === 0 ? { kind: 'closed' } : { kind: 'socket', inode }
  // The other end is not on this machine, whatever its address says (a virtual machine's host, for example) ...
  if (find(ours, theirs) !== undefined) return { kind: 'unknown' }
  // ... or both ends are gone. Where even our listening socket is missing, the tables say nothing at all.
  const port = `:${own.port.toString(16).padStart(4, '0').toUpperCase()} `
  const isListed = tables.some(table =>
    table.split('\n').some(line => line.includes(port) && / 0A /.test(line)),
  )
  return { kind: isListed ? 'closed' : 'unknown' }
}
