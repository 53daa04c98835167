import { setTimeout as delay } from 'node:timers/promises'
import { signalProcess } from '../../base/process.ts'
import { MARK_VARIABLE, readProc, pids } from './own-processes.ts'

const LOOK_EVERY_MS = 50
/** Between SIGTERM and SIGKILL. */
const GRACE_MS = 1_000

/** Processes with the mark of this service that a command of a chat has started. */
const detached = (nonce: string): number[] =>
  pids().filter(pid => {
    if (pid === process.pid) return false
    const variables = (readProc(`${pid}/environ`) ?? '').split('\0')
    return (
      variables.includes(`${MARK_VARIABLE}=${nonce}`) &&
      variables.some(variable => variable.startsWith('AGENT_SESSION_KEY='))
    )
  })

/** How many were ended. `nonce`: the value of MARK_VARIABLE; undefined where a process marks nothing. */
export const endDetached = async (nonce: string | undefined): Promise<number> => {
  if (process.platform !== 'linux' || nonce === undefined) return 0
  const count = detached(nonce).length
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    for (const pid of detached(nonce)) signalProcess(pid, signal)
    for (let waited = 0; waited < GRACE_MS; waited += LOOK_EVERY_MS) {
      if (detached(nonce).length === 0) return count
      await delay(LOOK_EVERY_MS)
    }
  }
  return count
}
