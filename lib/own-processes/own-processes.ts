/**
 * Recognizes processes that this service has started, directly or not. Each inherits a mark that only root can remove:
 * a hard limit (RLIMIT_MSGQUEUE) one byte below that of other processes. Linux only.
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import type { Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import ipaddr from 'ipaddr.js'
import { peerOf } from './tcp-table.ts'

export type OwnProcesses = {
  /** Whether the peer of this connection is one of them, or was and has closed it. False when unknown. */
  ownsPeerOf(socket: Socket): boolean
}

/** In the environment of every process of the agent: the fallback when the limit cannot be set. */
export const MARK_VARIABLE = 'AGENT_SERVICE_RUN'

/** Undefined when the process has exited or belongs to another user. */
const readProc = (path: string): string | undefined => {
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
const lowerHardLimit = (): number | undefined => {
  const hard = hardLimitOf('self')
  if (hard === undefined || hard < 1) return undefined
  // The kernel's default instead of "unlimited".
  const mark = Number.isFinite(hard) ? hard - 1 : 819_199
  // From util-linux: Node has no API for it.
  spawnSync('prlimit', ['--pid', String(process.pid), `--msgqueue=${mark}:${mark}`], {
    stdio: 'ignore',
    timeout: 2_000,
  })
  return hardLimitOf('self') === mark ? mark : undefined
}

const pids = (): number[] => readdirSync('/proc').map(Number).filter(Number.isInteger)

const childrenOf = (pid: number): number[] => {
  let threads: string[]
  try {
    threads = readdirSync(`/proc/${pid}/task`)
  } catch {
    // It has exited.
    return []
  }
  return threads.flatMap(thread =>
    (readProc(`${pid}/task/${thread}/children`) ?? '').split(' ').filter(Boolean).map(Number),
  )
}

const holds = (pid: number, inode: number): boolean => {
  const wanted = `socket:[${inode}]`
  try {
    return readdirSync(`/proc/${pid}/fd`).some(fd => {
      try {
        return readlinkSync(`/proc/${pid}/fd/${fd}`) === wanted
      } catch {
        // Closed since readdir.
        return false
      }
    })
  } catch {
    // It has exited, or belongs to another user.
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
 * From now on; `nonce` is the value of MARK_VARIABLE. `isOutside` names a child that is no program of the agent: the browser opened for the person, with
 * everything it starts. It has to be started before, so that it has no mark.
 */
export const markOwnProcesses = ({
  nonce,
  warn,
  isOutside = () => false,
}: {
  nonce: string
  warn: (text: string) => void
  isOutside?: (pid: number) => boolean
}): OwnProcesses => {
  if (process.platform !== 'linux') return { ownsPeerOf: () => false }
  const mark = lowerHardLimit()
  if (mark === undefined)
    warn(
      'The program prlimit (util-linux) is missing or cannot be used: a command of the agent that detaches itself completely is not recognized',
    )

  const isMarked = (pid: number): boolean =>
    mark === undefined
      ? (readProc(`${pid}/environ`) ?? '').includes(`${MARK_VARIABLE}=${nonce}`)
      : (hardLimitOf(pid) ?? Number.POSITIVE_INFINITY) <= mark

  const descendants = (): number[] => {
    const found: number[] = []
    const open = childrenOf(process.pid)
    for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
      if (isOutside(pid)) continue
      found.push(pid)
      open.push(...childrenOf(pid))
    }
    return found
  }

  const isOurs = (inode: number): boolean =>
    descendants().some(pid => holds(pid, inode)) ||
    pids().some(pid => isMarked(pid) && holds(pid, inode))

  /** Connections whose peer is none of them: checked once. */
  const cleared = new WeakSet<Socket>()

  return {
    ownsPeerOf(socket) {
      const { localAddress, localPort, remoteAddress, remotePort } = socket
      if (cleared.has(socket)) return false
      if (!localAddress || !localPort || !remoteAddress || !remotePort) return socket.destroyed
      if (isOfThisMachine(remoteAddress)) {
        const own = { address: localAddress, port: localPort }
        const peer = peerOf(own, { address: remoteAddress, port: remotePort })
        // A browser waits for the response. A process that closes its side first could no longer be identified.
        if (peer.kind === 'closed') return true
        if (peer.kind === 'socket' && isOurs(peer.inode)) return true
      }
      cleared.add(socket)
      return false
    },
  }
}
