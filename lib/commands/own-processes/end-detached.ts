/**
 * Ends the commands of the agent that have left their process group (`setsid`, `nohup`): they must not outlive the service that
 * is responsible for them. Linux only: elsewhere the environment of another process cannot be read.
 */
import { readdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { signalProcess } from '../../base/process.ts'
import { MARK_VARIABLE, readProc } from './own-processes.ts'

const LOOK_EVERY_MS = 50
/** Between SIGTERM and SIGKILL. */
const GRACE_MS = 1_000

/** Processes with the mark of this service that a command of a chat has started. */
const detached = (nonce: string): number[] =>
  readdirSync('/proc')
    .map(Number)
    .filter(pid => {
      if (!Number.isInteger(pid) || pid === process.pid) return false
      const variables = (readProc(`${pid}/environ`) ?? '').split('\0')
      return (
        variables.includes(`${MARK_VARIABLE}=${nonce}`) &&
        variables.some(variable => variable.startsWith('AGENT_SESSION_KEY='))
      )
    })

/** `nonce`: the value of MARK_VARIABLE; undefined where this process marks nothing. */
export const endDetached = async (nonce: string | undefined): Promise<void> => {
  if (process.platform !== 'linux' || nonce === undefined) return
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    for (const pid of detached(nonce)) signalProcess(pid, signal)
    for (let waited = 0; waited < GRACE_MS; waited += LOOK_EVERY_MS) {
      if (detached(nonce).length === 0) return
      await delay(LOOK_EVERY_MS)
    }
  }
}
