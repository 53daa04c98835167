/** Signals what a sandbox runs: bubblewrap itself ends at SIGTERM and would take everything with it, without a chance to save. */
import { readdirSync, readFileSync } from 'node:fs'

const childrenOf = (pid: number): number[] => {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap(thread =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1')
        .split(' ')
        .filter(Boolean)
        .map(Number),
    )
  } catch {
    // It has exited.
    return []
  }
}

/** bwrap has two processes of its own: the one that was started, and the first one inside (process 1). */
const DEPTH_OF_COMMAND = 2

/**
 * Signals every process inside. False when there is none yet, or for SIGKILL: killing bubblewrap ends everything inside
 * at once, because process 1 ends with it and the kernel ends the others with process 1.
 */
export const signalInside = (bwrap: number, signal: NodeJS.Signals): boolean => {
  if (signal === 'SIGKILL') return false
  let level = [bwrap]
  for (let depth = 0; depth < DEPTH_OF_COMMAND; depth++) level = level.flatMap(childrenOf)
  if (level.length === 0) return false
  const open = [...level]
  for (let pid = open.pop(); pid !== undefined; pid = open.pop()) {
    open.push(...childrenOf(pid))
    try {
      process.kill(pid, signal)
    } catch {
      // It has exited since.
    }
  }
  return true
}
