/**
 * What the directory of a worker's cell takes of the disk, against its limit. Over the limit nothing is ended and nothing is lost:
 * files cannot be added, except by commands, which can also delete.
 */
import type { Clock } from '../base/clock.ts'
import { run } from '../base/process.ts'
import type { Config } from '../config.ts'
import { diskFull } from '../errors.ts'

/** The rest after a measurement, at least, */
const REST_MS = 30_000
/** and how many times as long as it took: a large directory is not measured all the time. */
const REST_FACTOR = 20
const MEASURE_MS = 600_000

const inGigabytes = (bytes: number): string => `${Math.round((bytes / 2 ** 30) * 10) / 10} GB`

export class CellDisk {
  readonly #config: Config
  readonly #clock: Clock
  readonly #onFull: (used: string, limit: string) => void
  #used = 0
  #isClosed = false
  #stop = (): void => {}

  /** `onFull` is called with sizes when the limit is crossed. */
  constructor(config: Config, clock: Clock, onFull: (used: string, limit: string) => void) {
    this.#config = config
    this.#clock = clock
    this.#onFull = onFull
  }

  get #limit(): number {
    const { cluster } = this.#config
    // A volume has a size of its own.
    return cluster?.runBy == null || cluster.files === 'volume' ? 0 : cluster.diskBytes
  }

  get isFull(): boolean {
    return this.#limit > 0 && this.#used > this.#limit
  }

  /** For the model and for programs. */
  get sentence(): string {
    return `The files of this installation use ${inGigabytes(this.#used)}, and the limit is ${inGigabytes(this.#limit)}. Delete what is not needed: until then, only commands can add files.`
  }

  /** Measures from now on. */
  start(): void {
    if (this.#limit > 0) void this.#round()
  }

  /** Throws a UserError while the cell is over its limit. */
  requireRoom(): void {
    if (this.isFull) throw diskFull(this.sentence, { code: 'disk_full' })
  }

  async measure(): Promise<void> {
    const { userHome, env } = this.#config
    // Of the disk itself: what is mounted below is somewhere else. A folder that cannot be entered does not count.
    const { stdout } = await run('du', ['-skx', '--', userHome], {
      ...{ cwd: '/', env: { PATH: env.PATH ?? '' }, timeoutMs: MEASURE_MS },
    })
    const kilobytes = Number.parseInt(stdout.toString(), 10)
    if (!Number.isFinite(kilobytes)) return
    const wasFull = this.isFull
    this.#used = kilobytes * 1024
    if (this.isFull && !wasFull) this.#onFull(inGigabytes(this.#used), inGigabytes(this.#limit))
  }

  close(): void {
    this.#isClosed = true
    this.#stop()
  }

  async #round(): Promise<void> {
    const began = this.#clock.monotonic()
    // Without a free process, for example: what was known counts.
    await this.measure().catch(() => undefined)
    if (this.#isClosed) return
    const rest = Math.max(REST_MS, REST_FACTOR * (this.#clock.monotonic() - began))
    this.#stop = this.#clock.timer(rest, () => void this.#round())
  }
}
