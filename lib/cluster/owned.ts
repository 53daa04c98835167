/** The life of an owner: sends what is written, gives signs of life, and connects again when the database was away. */
import type { Clock } from '../base/clock.ts'
import { BEAT_MS, LEASE_MS } from '../base/cluster-settings.ts'
import { Wake } from '../base/wake.ts'
import { messageOf } from '../errors.ts'
import { onWrite } from '../store/write-reports.ts'
import { compareLocal } from './bring-up.ts'
import { connect, type Database, databaseProblem, sqlState } from './database.ts'
import { writeNote } from './directory-note.ts'
import { type Claim, giveUp, reclaim, showAddress, showStatus } from './ownership.ts'
import type { Mirror } from './mirror.ts'
import { noteLeftOut } from './not-copied.ts'
import { Pending } from './pending.ts'
import type { Sealer } from './seal.ts'
import { Sender } from './send.ts'
import { type CellFiles, CellLost, type CellStatus, type Owned } from './types.ts'

/** Other programs change files too. */
const SWEEP_MS = 5_000
/** How many times as long as a look took the next one waits: of 50,000 files it is not done all the time. */
const SWEEP_REST = 20
/** SQLSTATE: a file does not end where it should. */
const RAISED = 'P0001'
const FIRST_PAUSE_MS = 50
const MAX_PAUSE_MS = 2_000

export type OwnedOptions = {
  clock: Clock
  url: string
  cell: string
  stateDir: string
  directory: string
  files: CellFiles
  mirror: Mirror
  sealer: Sealer
  claimed: Claim
  tookOver: boolean
  missing: readonly string[]
  db: Database
  /** What requests prove with that they come from a forwarder; null: nothing. */
  token: string | null
  log: { info: (text: string) => void; warn: (text: string) => void }
}

/** By both times: one of them is paused while the machine sleeps, the other can be set back. */
class Lease {
  readonly #clock: Clock
  #at = { elapsed: Number.NEGATIVE_INFINITY, wall: 0 }

  constructor(clock: Clock) {
    this.#clock = clock
  }

  now() {
    return { elapsed: this.#clock.monotonic(), wall: this.#clock.now() }
  }

  renew(sentAt: { elapsed: number; wall: number }): void {
    this.#at = sentAt
  }

  isValid() {
    return (
      this.#clock.monotonic() - this.#at.elapsed < LEASE_MS &&
      Math.abs(this.#clock.now() - this.#at.wall) < LEASE_MS
    )
  }
}

class AddressNote {
  readonly #stateDir: string
  readonly #cell: string
  readonly #directory: string
  readonly #claimed: Claim
  #isTakingOver: boolean

  constructor({ stateDir, cell, directory, claimed, tookOver }: OwnedOptions) {
    this.#stateDir = stateDir
    this.#cell = cell
    this.#directory = directory
    this.#claimed = claimed
    this.#isTakingOver = tookOver
  }

  write(isClean: boolean): void {
    const { id, epoch, claim } = this.#claimed
    writeNote(this.#stateDir, {
      ...{ cell: this.#cell, id, epoch, claim },
      directory: this.#directory,
      isClean,
      isTakingOver: this.#isTakingOver,
    })
  }

  /** What the owner before left open was continued before that. */
  serves(): void {
    if (!this.#isTakingOver) return
    this.#isTakingOver = false
    this.write(false)
  }
}

/** What the database shows of this owner: where it is reached, and how it is. */
class Shown {
  readonly #cell: string
  readonly #epoch: number
  readonly #token: string | null
  #address: string | null = null
  #sentAddress: string | null = null
  #status: CellStatus | null = null

  constructor({ cell, claimed, token }: OwnedOptions) {
    this.#cell = cell
    this.#epoch = claimed.epoch
    this.#token = token
  }

  get isSent() {
    return this.#sentAddress === this.#address && this.#status === null
  }

  announce(address: string): void {
    this.#address = address
  }

  report(status: CellStatus): void {
    this.#status = status
  }

  /** The database has forgotten it. */
  forgetAddress(): void {
    this.#sentAddress = null
  }

  async send(db: Database): Promise<void> {
    const [address, status] = [this.#address, this.#status]
    if (this.#sentAddress !== address) {
      await showAddress(db, this.#cell, { epoch: this.#epoch, address, token: this.#token })
      this.#sentAddress = address
    }
    if (!status) return
    await showStatus(db, this.#cell, { ...status, epoch: this.#epoch })
    if (this.#status === status) this.#status = null
  }
}

/** Finds what other programs changed. */
class Looks {
  readonly #options: OwnedOptions
  readonly #onFound: () => void
  #stopTimer = (): void => undefined
  #isStopped = false

  constructor(options: OwnedOptions, onFound: () => void) {
    this.#options = options
    this.#onFound = onFound
  }

  async look(found: (key: string) => void, part?: 'work'): Promise<void> {
    const { mirror, stateDir, log } = this.#options
    try {
      for (const key of await mirror.changed(part)) found(key)
      noteLeftOut(stateDir, mirror.skipped())
      this.#onFound()
    } catch (error) {
      log.warn(`Couldn't look for changed files: ${messageOf(error)}`)
    }
  }

  repeat(found: (key: string) => void, ms = SWEEP_MS): void {
    const { clock } = this.#options
    this.#stopTimer = clock.timer(ms, () => void this.#sweep(found))
  }

  stop(): void {
    this.#isStopped = true
    this.#stopTimer()
  }

  async #sweep(found: (key: string) => void): Promise<void> {
    const { clock } = this.#options
    const began = clock.monotonic()
    await this.look(found)
    const rest = Math.max(SWEEP_MS, SWEEP_REST * (clock.monotonic() - began))
    if (!this.#isStopped) this.repeat(found, rest)
  }
}

export const startOwned = async (options: OwnedOptions): Promise<Owned> => {
  const { clock, url, cell, files, mirror, sealer, log } = options
  const { epoch, batch } = options.claimed
  const pending = new Pending()
  const sender = new Sender({ cell, epoch, batch, mirror, sealer, pending })
  const lease = new Lease(clock)
  const lost = new AbortController()
  const wake = new Wake(clock)
  const shown = new Shown(options)
  let db: Database | null = options.db
  let phase: 'open' | 'releasing' | 'closed' = 'open'
  let failures = 0
  let isAsleep = false

  const kick = (): void => {
    if (isAsleep) wake.wake()
  }
  const mark = (key: string): void => {
    pending.mark(key)
    kick()
  }
  const isReachable = (): boolean => db?.ended.aborted === false && lease.isValid()
  const isSettled = (): boolean => !lost.signal.aborted && pending.isCommitted && isReachable()

  const lose = (error: CellLost): void => {
    lost.abort(error)
    pending.reject(error)
    db?.end()
  }

  /** The database went back to an earlier state, as after a failover or a restored backup: it gets again what it lacks. */
  const comeBack = async (next: Database): Promise<void> => {
    log.warn('The database of the cluster has lost what it had acknowledged; sending it again')
    mirror.forget()
    await compareLocal({ db: next, cell, files, mirror, sealer })
    for (const key of await mirror.changed()) pending.mark(key)
    shown.forgetAddress()
    sender.repaired()
  }

  const open = async (): Promise<Database> => {
    const next = await connect(url)
    try {
      if (!sender.resume(await reclaim(next, cell, { epoch, clock }))) await comeBack(next)
    } catch (error) {
      next.end()
      throw error
    }
    if (failures > 0) log.info('The database of the cluster answers again')
    next.ended.addEventListener('abort', kick)
    return next
  }

  /** One statement, or several when there is more to send. */
  const work = async (on: Database): Promise<void> => {
    const sentAt = lease.now()
    if (!pending.isEmpty) await sender.flush(on)
    else if (pending.hasLater) await sender.flushLater(on)
    else await sender.beat(on)
    await shown.send(on)
    lease.renew(sentAt)
    // An answer that was read long after it was sent, by a process that was paused, proves nothing about now.
    if (lease.isValid()) pending.resolveCommitted()
  }

  const onFailure = (error: unknown): void => {
    if (error instanceof CellLost) return void lose(error)
    failures += 1
    if (failures === 1) log.warn(`${databaseProblem(error)}. Waiting for it`)
    if (sqlState(error) === RAISED) sender.distrust()
    db?.end()
    db = null
  }

  const isIdle = (): boolean =>
    pending.isEmpty && !pending.hasLater && !pending.hasWaiters && shown.isSent

  const run = async (): Promise<void> => {
    while (phase !== 'closed' && !lost.signal.aborted) {
      try {
        if (db === null || db.ended.aborted) db = await open()
        await work(db)
        failures = 0
      } catch (error) {
        onFailure(error)
      }
      const pause = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures, 10))
      // A failure is followed by a pause in any case: waking up for every write would only repeat it.
      if (failures > 0) await wake.sleep(pause)
      else if (isIdle()) {
        isAsleep = true
        await wake.sleep(BEAT_MS)
        isAsleep = false
      }
    }
  }

  const looks = new Looks(options, kick)
  // From here on, every write of this process is seen.
  const unlisten = onWrite(path => {
    const key = files.keyOf(path)
    if (key !== null) mark(key)
  })
  await looks.look(mark)
  options.db.ended.addEventListener('abort', kick)
  const running = run()
  looks.repeat(key => pending.markLater(key))

  const settled = (): Promise<void> => {
    if (lost.signal.aborted) return Promise.reject(lost.signal.reason)
    if (isSettled()) return Promise.resolve()
    const waited = pending.wait()
    kick()
    return waited
  }
  const note = new AddressNote(options)
  await settled()
  note.write(false)

  return {
    epoch,
    tookOver: options.tookOver,
    isReachable,
    isSettled,
    settled,
    lost: lost.signal,
    announce(next) {
      shown.announce(next)
      note.serves()
      kick()
    },
    report(next) {
      shown.report(next)
      kick()
    },
    look: () => looks.look(mark, 'work'),
    missing: options.missing,
    async release(timeoutMs, wakeAt = null) {
      looks.stop()
      if (phase !== 'open') return
      phase = 'releasing'
      await looks.look(mark)
      unlisten()
      const isDone = await Promise.race([
        settled().then(
          () => true,
          () => false,
        ),
        new Promise<false>(resolve => clock.timer(timeoutMs, () => resolve(false))),
      ])
      phase = 'closed'
      kick()
      wake.wake()
      // A statement that has no answer does not delay the end.
      await Promise.race([running, new Promise<void>(resolve => clock.timer(1_000, resolve))])
      pending.reject(new CellLost('The service is shutting down'))
      if (isDone && db && !lost.signal.aborted) {
        await giveUp(db, cell, { epoch, wakeAt }).catch(() => undefined)
        note.write(true)
      }
      db?.end()
    },
  }
}
