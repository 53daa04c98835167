/** Watches the new version after an update, from a process of the old one: it must answer, or the old one comes back. */
import { type Clock, fromSeconds, toSeconds } from '../base/clock.ts'
import { messageOf } from '../errors.ts'
import { finishSwitch, putBack, type SwitchRecord } from './switch-program.ts'

export type WatchOptions = {
  /** HTTP status of the health check, and the seconds that the service has been running; rejects when it does not answer. */
  health: (address: string) => Promise<{ status: number; uptime: number }>
  isAlive: (pid: number) => boolean
  /** Of the service as it says itself; undefined when it has not started. */
  servicePid: () => number | undefined
  kill: (pid: number, signal: 'SIGTERM' | 'SIGKILL') => void
  /** Starts the old version again, as a process that outlives this one. */
  start: (record: SwitchRecord) => void
  /** Sets the checkout back to the commit; false when that failed. */
  revert: (checkout: { dir: string; commit: string }) => Promise<boolean>
  /** Deletes what the new version may have written in a newer format and the old one rebuilds. */
  removeCaches: (stateDir: string) => void
  log: (line: string) => void
  /** Aborted when a supervisor ends the whole service. */
  signal?: AbortSignal
  clock: Clock
}

const LIMIT_MS = 60_000
const POLL_MS = 250
/** In a row: the first response may precede a crash. */
const ENOUGH = 4
/** In a row: it answers, but its health check fails. */
const TOO_MANY = 12
/** Without a supervisor, a process that has ended does not come back. */
const DEAD_MS = 1_000
const STOP_MS = 10_000

/** `why` is empty when the new version answers. `ended`: the process of the record is gone, and its id may be that of another program. */
type Watched = { why: string; ended: boolean }

const watch = async (record: SwitchRecord, options: WatchOptions): Promise<Watched> => {
  const { health, isAlive, signal, clock } = options
  const startedAt = clock.monotonic()
  let answers = 0
  let refusals = 0
  let deadSince: number | null = null
  let why = 'it did not answer'
  while (clock.monotonic() - startedAt < LIMIT_MS) {
    await clock.delay(POLL_MS)
    try {
      const { status, uptime } = await health(record.address)
      // The old process answers until it has ended.
      const isNew = fromSeconds(uptime) < clock.monotonic() - startedAt + POLL_MS
      answers = status === 200 && isNew ? answers + 1 : 0
      refusals = status === 200 ? 0 : refusals + 1
      if (status !== 200) why = `its health check answered ${status}`
    } catch (error) {
      answers = 0
      why = messageOf(error)
    }
    if (!isAlive(record.pid)) deadSince ??= clock.monotonic()
    const ended = deadSince !== null
    if (answers >= ENOUGH) return { why: '', ended }
    if (refusals >= TOO_MANY) return { why, ended }
    const isDead = deadSince !== null && clock.monotonic() - deadSince >= DEAD_MS
    const isOver = (isDead && !record.supervised) || (ended && signal?.aborted)
    if (isOver && answers === 0) return { why: 'it ended right after its start', ended }
  }
  return { why, ended: deadSince !== null }
}

/** Ends the new version, so that the old one can start. */
const stop = async (
  record: SwitchRecord,
  options: WatchOptions & Pick<Watched, 'ended'>,
): Promise<void> => {
  const { isAlive, kill, servicePid, ended, clock } = options
  const own = servicePid()
  // A supervisor starts it with another id.
  const pid = own !== undefined && own !== record.pid ? own : ended ? undefined : record.pid
  if (pid === undefined || !isAlive(pid)) return
  kill(pid, 'SIGTERM')
  for (let waited = 0; waited < STOP_MS && isAlive(pid); waited += POLL_MS)
    await clock.delay(POLL_MS)
  if (isAlive(pid)) kill(pid, 'SIGKILL')
  while (isAlive(pid)) await clock.delay(POLL_MS)
}

/** Returns whether the new version stays. */
export const watchSwitch = async (
  record: SwitchRecord,
  options: WatchOptions,
): Promise<boolean> => {
  const { log, start, revert, removeCaches, clock } = options
  const { from, to, supervised, checkout } = record
  const { why: problem, ended } = await watch(record, options)
  const at = toSeconds(clock.now())
  if (problem === '') {
    finishSwitch(record, { at, ok: true, from, to, message: '' })
    return true
  }
  log(`update: ${to} does not work (${problem}); going back to ${from}`)
  // Before it ends, so that a supervisor starts the old one.
  putBack(record)
  if (checkout && !(await revert(checkout)))
    log(`update: ${checkout.dir} could not be set back to ${checkout.commit}`)
  await stop(record, { ...options, ended })
  removeCaches(record.state_dir)
  finishSwitch(record, { at, ok: false, from, to, message: problem })
  if (!supervised && !options.signal?.aborted) start(record)
  return false
}
