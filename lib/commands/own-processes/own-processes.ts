/**
 * Recognizes processes that this service has started, directly or not. Each inherits a mark that only root can remove:
 * a hard limit (RLIMIT_MSGQUEUE) one byte below that of other processes. Linux only.
 */
import ipaddr from 'ipaddr.js'
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { namesIn } from '../../base/directories.ts'
import { type Endpoint, peerOf } from './tcp-table.ts'

export type OwnProcesses = {
  /** Whether the peer of this connection is one of them, or was and has closed it. False when unknown. */
  ownsPeerOf(socket: Socket): boolean
}

/** In the environment of every process of the agent: the fallback when the limit cannot be set. */
export const MARK_VARIABLE = 'AGENT_SERVICE_RUN'

/** Undefined when the process has exited or belongs to another user. */
export const readProc = (path: string): string | undefined => {
  try {
    return readFileSync(`/proc/${path}`, 'latin1')
  } catch {
    return undefined
  }
}

const hardLimitOf = (pid: number | 'self'): number | undefined => {
  const [, hard] = /^Max msgqueue size\s+\S+\s+(\S+)/m.exec(readProc(`${pid}/limits`) ?? '') ?? []
  if (hard === undefined) return undefined
  return hard === 'unlimited' ? Number.POSITIVE_INFINITY : Number(hard)
}

/** Lowers the limit for this process and all later children. Undefined when it cannot be set. */
const lowerHardLimit = async (): Promise<number | undefined> => {
  const hard = hardLimitOf('self')
  if (hard === undefined || hard < 1) return undefined
  // The kernel's default instead of "unlimited".
  const mark = Number.isFinite(hard) ? hard - 1 : 819_199
  // From util-linux: Node has no API for it.
  const args = ['--pid', String(process.pid), `--msgqueue=${mark}:${mark}`]
  try {
    const program = spawn('prlimit', args, { stdio: 'ignore', timeout: 2_000 })
    await new Promise(resolve => program.once('close', resolve).once('error', resolve))
  } catch {
    // Without memory for another process, for example: the limit below says that it was not set.
  }
  return hardLimitOf('self') === mark ? mark : undefined
}

/** Of all processes; empty where there is no /proc. */
export const pids = (): number[] => namesIn('/proc').map(Number).filter(Number.isInteger)

export const childrenOf = (pid: number): number[] =>
  namesIn(`/proc/${pid}/task`).flatMap(thread =>
    (readProc(`${pid}/task/${thread}/children`) ?? '').split(' ').filter(Boolean).map(Number),
  )

/** Undefined when the descriptors of the process are not readable: another user, a program that forbids it, or it has exited. */
const holds = (pid: number, inode: number): boolean | undefined => {
  const link = `socket:[${inode}]`
  try {
    return readdirSync(`/proc/${pid}/fd`).some(fd => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`) === link
      } catch {
        // Closed since readdir.
        return false
      }
    })
  } catch {
    return undefined
  }
}

/** Whether the effective user of the process is `uid`. False when it has exited. */
const isOfUser = (pid: number, uid: number): boolean =>
  Number(/^Uid:\s+\d+\s+(\d+)/m.exec(readProc(`${pid}/status`) ?? '')?.[1]) === uid

/**
 * The owner of a socket, as far as it can be found: `hidden` when a process that could hold it does not show its descriptors.
 */
type Owner = 'ours' | 'other' | 'hidden' | 'none'

/** PID_INIT_INO of the kernel: no process of this machine is invisible, unlike in a container. */
const seesAllProcesses = (): boolean => {
  try {
    return readlinkSync('/proc/self/ns/pid') === `pid:[${0xeffffffc}]`
  } catch {
    return false
  }
}

const isOfThisMachine = (address: string): boolean => {
  const bare = address.split('%', 1)[0] ?? ''
  if (!ipaddr.isValid(bare)) return false
  const parsed = ipaddr.process(bare)
  if (parsed.range() === 'loopback') return true
  const text = parsed.toString()
  return Object.values(networkInterfaces()).some(list =>
    list?.some(entry => ipaddr.process(entry.address.split('%', 1)[0] ?? '').toString() === text),
  )
}

/** Whether this process is a descendant of the service with the given process id. */
export const isDescendantOf = (service: number): boolean => {
  const [limit, own] = [hardLimitOf(service), hardLimitOf('self')]
  const parent = Number(/^PPid:\s+(\d+)/m.exec(readProc(`${service}/status`) ?? '')?.[1])
  // A service without a mark has the limit of its parent.
  const isMarkedService = limit !== undefined && limit < (hardLimitOf(parent) ?? limit)
  return isMarkedService && own !== undefined && own <= limit
}

/**
 * Marks processes that are started after it resolves; `nonce` is the value of MARK_VARIABLE. `isOutside` names a child that is no
 * program of the agent: the browser opened for the person, with everything it starts. Start it before calling this, so that it has
 * no mark.
 */
export const markOwnProcesses = async ({
  nonce,
  warn,
  isOutside = () => false,
}: {
  nonce: string
  warn: (text: string) => void
  isOutside?: (pid: number) => boolean
}): Promise<OwnProcesses> => {
  if (process.platform !== 'linux') return { ownsPeerOf: () => false }
  const mark = await lowerHardLimit()
  if (mark === undefined)
    warn(
      'The program prlimit (util-linux) is missing or cannot be used: a command of the agent that detaches itself completely is not recognized',
    )

  const isMarked = (pid: number): boolean =>
    mark === undefined
      ? (readProc(`${pid}/environ`) ?? '').includes(`${MARK_VARIABLE}=${nonce}`)
      : (hardLimitOf(pid) ?? Number.POSITIVE_INFINITY) <= mark

  const descendants = (): number[] => {
    const pids: number[] = []
    const open = childrenOf(process.pid)
    for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
      if (isOutside(pid)) continue
      pids.push(pid)
      open.push(...childrenOf(pid))
    }
    return pids
  }

  /** Processes found before that are none of them: browsers and proxies. Their next connection is found at once. */
  const outsiders = new Set<number>()

  const ownerOf = ({ inode, uid }: { inode: number; uid: number }): Owner => {
    if (descendants().some(pid => holds(pid, inode))) return 'ours'
    const all = pids()
    const marked = all.filter(isMarked)
    const unreadable: number[] = []
    for (const pid of marked) {
      const isHeld = holds(pid, inode)
      if (isHeld) return 'ours'
      if (isHeld === undefined && isOfUser(pid, uid)) unreadable.push(pid)
    }
    if (process.getuid?.() !== 0 && process.getuid?.() !== uid) return 'hidden'
    const others = new Set(all).difference(new Set(marked))
    const first = outsiders.intersection(others)
    let isHidden = false
    for (const pid of [...first, ...others.difference(first)]) {
      const isHeld = holds(pid, inode)
      if (isHeld) {
        outsiders.add(pid)
        return 'other'
      }
      isHidden ||= isHeld === undefined && isOfUser(pid, uid)
    }
    // A program of the agent can make its own descriptors unreadable, like sshd for a forwarded port.
    if (unreadable.length > 0) return 'ours'
    return isHidden ? 'hidden' : 'none'
  }

  /** Whether the peer is, or was, one of them. */
  const isOurs = (own: Endpoint, remote: Endpoint): boolean => {
    let peer = peerOf(own, remote)
    // The kernel returns its table in parts: a socket can be missing while it changes its state.
    if (peer.kind === 'unknown') peer = peerOf(own, remote)
    // A browser waits for the response. A process that closes its side first could no longer be identified.
    if (peer.kind !== 'socket') return peer.kind === 'closed'
    const owner = ownerOf(peer)
    if (owner === 'ours' || owner === 'other') return owner === 'ours'
    // It was closed during the search ...
    if (peerOf(own, remote).kind === 'closed') return true
    // ... or sent to another process, which has not received it. A process of another user may be invisible.
    return owner === 'none' && seesAllProcesses()
  }

  /** Connections whose peer is none of them: checked once. */
  const cleared = new WeakSet<Socket>()

  return {
    ownsPeerOf(socket) {
      const { localAddress, localPort, remoteAddress, remotePort } = socket
      if (cleared.has(socket)) return false
      if (!localAddress || !localPort || !remoteAddress || !remotePort) return socket.destroyed
      const own = { address: localAddress, port: localPort }
      const remote = { address: remoteAddress, port: remotePort }
      if (isOfThisMachine(remoteAddress) && isOurs(own, remote)) return true
      cleared.add(socket)
      return false
    },
  }
}

type Stat = { parent: number; group: number }

/** Undefined without /proc, or when the process has exited. */
const statOf = (pid: number): Stat | undefined => {
  // The name is in parentheses and may contain anything.
  const [, parent, group] = /.*\) \S (\d+) (\d+)/s.exec(readProc(`${pid}/stat`) ?? '') ?? []
  return parent === undefined ? undefined : { parent: Number(parent), group: Number(group) }
}

/** By pid, with the process group; outside of Linux the service and its parent alone, without groups. */
const serviceProcesses = (): Map<number, number | undefined> => {
  const processes = new Map<number, number | undefined>()
  for (let pid = process.pid; pid > 0 && !processes.has(pid); ) {
    const stat = statOf(pid)
    processes.set(pid, stat?.group)
    pid = stat?.parent ?? (pid === process.pid ? process.ppid : 0)
  }
  return processes
}

/** Whether a signal to `target` reaches the service, as kill(2) reads it: below 0 a process group, -1 every process. */
export const isServiceTarget = (target: number): boolean => {
  const all = serviceProcesses()
  return target < 0 ? target === -1 || [...all.values()].includes(-target) : all.has(target)
}
