/** Whether the service can take requests: what `/ready` answers to a load balancer or an orchestrator. */
import type { Clock } from '../base/clock.ts'
import { stateChecks } from './start-checks.ts'
import type { Machine } from './machine.ts'

/** Seen by anyone who can reach the service, so no sentence names a path. */
const REASONS = {
  starting: 'The service is starting.',
  stopping: 'The service is shutting down.',
  state_not_writable: 'The state directory cannot be written.',
  disk_full: 'The disk of the state directory is full.',
  database_away: 'The database of the cluster does not answer.',
} as const

export type NotReady = keyof typeof REASONS
export type Readiness = {
  /** Empty: ready. */
  reasons(): { code: NotReady; message: string }[]
  /** Bytes that can still be written; 0 when that is not known. */
  freeBytes(): number
  enter(state: 'running' | 'stopping'): void
}

type ReadinessOptions = {
  clock: Clock
  /** The database of the cluster does not answer. */
  isAway?: () => boolean
}

/** The disk is asked at most this often, for all requests together. */
const CHECK_MS = 1_000

export const createReadiness = (
  stateDir: string,
  machine: Machine,
  { clock, isAway = () => false }: ReadinessOptions,
): Readiness => {
  let state: 'starting' | 'running' | 'stopping' = 'starting'
  let checked: { at: number; found: NotReady[] } | undefined

  const freeBytes = (): number => {
    try {
      return machine.freeBytes(stateDir) ?? 0
    } catch {
      // The directory is gone, which the check of access reports.
      return 0
    }
  }
  const check = (): NotReady[] => {
    const failed = stateChecks(stateDir, machine, stateDir).find(({ level }) => level === 'fail')
    if (failed === undefined) return []
    return [failed.code === 'disk_full' ? 'disk_full' : 'state_not_writable']
  }
  const ofDisk = (): NotReady[] => {
    const at = clock.monotonic()
    if (!checked || at - checked.at >= CHECK_MS) checked = { at, found: check() }
    return checked.found
  }
  return {
    reasons: () =>
      [
        ...(state === 'running' ? [] : [state]),
        ...ofDisk(),
        ...(isAway() ? (['database_away'] as const) : []),
      ].map(code => ({
        code,
        message: REASONS[code],
      })),
    freeBytes,
    enter(next) {
      state = next
    },
  }
}
