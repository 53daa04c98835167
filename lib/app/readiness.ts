/** Whether the service can take requests: what `/ready` answers to a load balancer or an orchestrator. */
import type { Clock } from '../base/clock.ts'
import type { Machine } from '../operations/checks/machine.ts'
import { stateChecks } from '../operations/checks/start-checks.ts'

/** Seen by anyone who can reach the service, so no sentence names a path. */
const REASONS = {
  starting: 'The service is starting.',
  stopping: 'The service is shutting down.',
  state_not_writable: 'The state directory cannot be written.',
  disk_full: 'The disk of the state directory is full.',
  database_away: 'The database of the cluster does not answer.',
} as const

export type NotReady = keyof typeof REASONS

/** The disk is asked at most this often, for all requests together. */
const CHECK_MS = 1_000

export class Readiness {
  readonly #stateDir: string
  readonly #machine: Machine
  readonly #clock: Clock
  /** The database of the cluster does not answer. */
  readonly #isAway: () => boolean
  #state: 'starting' | 'running' | 'stopping' = 'starting'
  #disk: { at: number; reasons: NotReady[] } | undefined

  constructor(
    stateDir: string,
    machine: Machine,
    { clock, isAway = () => false }: { clock: Clock; isAway?: () => boolean },
  ) {
    this.#stateDir = stateDir
    this.#machine = machine
    this.#clock = clock
    this.#isAway = isAway
  }

  /** Empty: ready. */
  reasons(): { code: NotReady; message: string }[] {
    const codes = [
      ...(this.#state === 'running' ? [] : [this.#state]),
      ...this.#diskReasons(),
      ...(this.#isAway() ? (['database_away'] as const) : []),
    ]
    return codes.map(code => ({ code, message: REASONS[code] }))
  }

  /** Bytes that can still be written; 0 when that is not known. */
  freeBytes(): number {
    try {
      return this.#machine.freeBytes(this.#stateDir) ?? 0
    } catch {
      // The directory is gone, which the check of access reports.
      return 0
    }
  }

  enter(state: 'running' | 'stopping'): void {
    this.#state = state
  }

  #diskReasons(): NotReady[] {
    const at = this.#clock.monotonic()
    if (!this.#disk || at - this.#disk.at >= CHECK_MS)
      this.#disk = { at, reasons: this.#checkDisk() }
    return this.#disk.reasons
  }

  #checkDisk(): NotReady[] {
    const checks = stateChecks(this.#stateDir, this.#machine, this.#stateDir)
    const problem = checks.find(({ level }) => level === 'fail')
    if (problem === undefined) return []
    return [problem.code === 'disk_full' ? 'disk_full' : 'state_not_writable']
  }
}
