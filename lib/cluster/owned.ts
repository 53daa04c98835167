/** The life of an owner: sends what is written, gives signs of life, and connects again when the database was away. */
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../base/clock.ts'
import { BEAT_MS, LEASE_MS } from '../base/cluster-settings.ts'
import { SharedRuns } from '../base/shared-runs.ts'
import { Wake } from '../base/wake.ts'
import { messageOf } from '../errors.ts'
import { onWrite } from '../store/write-reports.ts'
import { compareLocal } from './bring-up.ts'
import { connect, type Database, databaseProblem, sqlState } from './database.ts'
import { writeNote } from './directory-note.ts'
import { type Claim, dropTraces, giveUp, reclaim, type ShownOwner, showOwner } from './ownership.ts'
import type { Difference, Mirror } from './mirror.ts'
import { Backlog } from './backlog.ts'
import { noteLeftOut } from './not-copied.ts'
import { Pending } from './pending.ts'
import type { Sealer } from './seal.ts'
import { Sender } from './send.ts'
import { type CellFiles, CellLost, type CellStatus, FOLDER, type Owned } from './cluster.ts'

/** Other programs change files too. */
const SWEEP_MS = 5_000
/** How many times as long as a look took the next one waits: 50,000 files are not looked at all the time. */
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
  /** Of before: keys of files that only this machine has, and of those that it lacks. */
  leftOut: { here: ReadonlySet<string>; inherited: ReadonlySet<string> }
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

  /** Of a statement that is sent now; what is returned is called when it is answered. */
  ask(): () => void {
    const sentAt = { elapsed: this.#clock.monotonic(), wall: this.#clock.now() }
    return () => {
      this.#at = sentAt
    }
  }

  isValid() {
    return (
      this.#clock.monotonic() - this.#at.elapsed < LEASE_MS &&
      Math.abs(this.#clock.now() - this.#at.wall) < LEASE_MS
    )
  }
}

/** What the database shows of this owner: where it is reached, and how it is. */
class OwnerState {
  readonly #options: OwnedOptions
  #address: string | null = null
  #status: CellStatus | null = null
  #lastSent: ShownOwner | null = null

  constructor(options: OwnedOptions) {
    this.#options = options
  }

  get #now(): ShownOwner {
    const { leftOut } = this.#options.mirror
    return { address: this.#address, leftOut, status: this.#status }
  }

  get isSent() {
    return isDeepStrictEqual(this.#lastSent, this.#now)
  }

  announce(address: string): void {
    this.#address = address
  }

  report(status: CellStatus): void {
    this.#status = status
  }

  /** The database has forgotten it. */
  forget(): void {
    this.#lastSent = null
  }

  async send(db: Database): Promise<void> {
    if (this.isSent) return
    const { cell, claimed, token } = this.#options
    const now = this.#now
    await showOwner(db, cell, { ...now, epoch: claimed.epoch, token })
    this.#lastSent = now
  }
}

/** A folder that this machine lacks is missed while there is something around it. */
const hasPlace = (files: CellFiles, key: string): boolean =>
  !key.endsWith(FOLDER) || existsSync(dirname(files.pathOf(key) ?? ''))

/** What stays on this machine, in the lists that say so, and in the log. */
class LeftOut {
  readonly #options: OwnedOptions
  #isComplete = false

  constructor(options: OwnedOptions) {
    this.#options = options
  }

  /** All files were looked at: what is not left out now is copied. */
  complete(): void {
    this.#isComplete = true
    this.note()
  }

  note(): void {
    const { mirror, files, stateDir, leftOut, log } = this.#options
    const now = new Set([...mirror.skipped(), ...files.leftOut()])
    const inherited = [...leftOut.inherited].filter(
      key => mirror.isAsLoaded(key) && !now.has(key) && hasPlace(files, key),
    )
    mirror.saySkipped()
    try {
      noteLeftOut(stateDir, {
        here: this.#isComplete ? now : now.union(leftOut.here),
        inherited: new Set(inherited),
      })
    } catch (error) {
      log.warn(`Couldn't note which files stay on this machine: ${messageOf(error)}`)
    }
  }
}

/** A cell that this process owns. */
export class PostgresOwned implements Owned {
  readonly epoch: number
  readonly tookOver: boolean
  readonly #options: OwnedOptions
  readonly #pending = new Pending()
  /** What other programs changed. */
  readonly #backlog = new Backlog()
  readonly #leftOut: LeftOut
  #foldersLeftOut = ''
  readonly #looks = new SharedRuns(() => this.#look({ part: 'work' }))
  readonly #sender: Sender
  readonly #lease: Lease
  readonly #lost = new AbortController()
  readonly #wake: Wake
  readonly #ownerState: OwnerState
  /** What the owner before left open is not continued so far. */
  #isTakingOver: boolean
  readonly #stopListening: () => void
  #running: Promise<void> = Promise.resolve()
  #stopSweep = (): void => {}
  #db: Database | null
  #phase: 'open' | 'releasing' | 'closed' = 'open'
  #failures = 0
  #isAsleep = false
  readonly missing: readonly string[]

  /** Resolves when the database has what this machine has. */
  static async begin(options: OwnedOptions): Promise<PostgresOwned> {
    const owned = new PostgresOwned(options)
    await owned.#begin()
    return owned
  }

  private constructor(options: OwnedOptions) {
    const { clock, cell, files, mirror, sealer, claimed } = options
    const { epoch, batch } = claimed
    this.epoch = epoch
    this.tookOver = options.tookOver
    this.missing = options.missing
    this.#options = options
    this.#lease = new Lease(clock)
    this.#sender = new Sender({
      ...{ cell, epoch, batch, mirror, sealer, pending: this.#pending, backlog: this.#backlog },
      asks: () => this.#lease.ask(),
    })
    this.#leftOut = new LeftOut(options)
    this.#wake = new Wake(clock)
    this.#ownerState = new OwnerState(options)
    this.#isTakingOver = options.tookOver
    this.#db = options.db
    // From here on, every write of this process is seen.
    this.#stopListening = onWrite(path => {
      const key = files.keyOf(path)
      if (key !== null) this.#mark(key)
    })
  }

  get lost(): AbortSignal {
    return this.#lost.signal
  }

  isReachable(): boolean {
    return this.#db?.ended.aborted === false && this.#lease.isValid()
  }

  isSettled(): boolean {
    return !this.lost.aborted && this.#pending.isCommitted && this.isReachable()
  }

  whenSettled(): Promise<void> {
    if (this.lost.aborted) return Promise.reject(this.lost.reason)
    if (this.isSettled()) return Promise.resolve()
    const waited = this.#pending.wait()
    this.#kick()
    return waited
  }

  announce(address: string): void {
    this.#ownerState.announce(address)
    if (this.#isTakingOver) {
      this.#isTakingOver = false
      this.#writeNote(false)
    }
    this.#kick()
  }

  report(status: CellStatus): void {
    this.#ownerState.report(status)
    this.#kick()
  }

  async look(): Promise<void> {
    if (this.#isClosed()) throw new CellLost('Nothing is sent any more')
    await this.#looks.run()
    await this.#backlogSent()
  }

  async release(timeoutMs: number, wakeAt: number | null = null): Promise<void> {
    const { clock, cell } = this.#options
    this.#stopSweep()
    if (this.#phase !== 'open') return
    this.#phase = 'releasing'
    const isDone = await Promise.race([
      this.#sendRest().then(
        () => true,
        () => false,
      ),
      new Promise<false>(resolve => clock.timer(timeoutMs, () => resolve(false))),
    ])
    this.#stopListening()
    this.#phase = 'closed'
    this.#kick()
    this.#wake.wake()
    // A statement that has no answer does not delay the end.
    await Promise.race([this.#running, new Promise<void>(resolve => clock.timer(1_000, resolve))])
    this.#reject(new CellLost('The service is shutting down'))
    if (isDone && this.#db && !this.lost.aborted) {
      await dropTraces(this.#db, cell).catch(() => undefined)
      const wakeInMs = wakeAt === null ? null : wakeAt - clock.now()
      await giveUp(this.#db, cell, { epoch: this.epoch, wakeInMs }).catch(() => undefined)
      this.#noteClean()
    }
    this.#db?.end()
  }

  #writeNote(isClean: boolean): void {
    const { stateDir, cell, directory, claimed } = this.#options
    const { batch: _, previousEpoch: __, ...owner } = claimed
    writeNote(stateDir, { ...owner, cell, directory, isClean, isTakingOver: this.#isTakingOver })
  }

  /** On a full disk the next start here compares every file instead. */
  #noteClean(): void {
    try {
      this.#writeNote(true)
    } catch (error) {
      this.#options.log.warn(`Couldn't note that this cell ended in order: ${messageOf(error)}`)
    }
  }

  async #begin(): Promise<void> {
    const { clock, db } = this.#options
    db.ended.addEventListener('abort', () => this.#kick())
    this.#running = this.#run()
    this.#stopSweep = clock.timer(SWEEP_MS, () => void this.#sweep())
    await this.#sendRest()
    this.#writeNote(false)
  }

  async #sendRest(): Promise<void> {
    await this.#look({ isFinal: true })
    await this.#backlogSent()
    this.#leftOut.complete()
    await this.whenSettled()
  }

  #backlogSent(): Promise<void> {
    if (this.#isClosed()) return Promise.reject(new CellLost('Nothing is sent any more'))
    const promise = this.#backlog.wait()
    this.#kick()
    return promise
  }

  #reject(error: CellLost): void {
    this.#pending.reject(error)
    this.#backlog.reject(error)
  }

  #kick(): void {
    if (this.#isAsleep) this.#wake.wake()
  }

  #mark(key: string): void {
    this.#pending.mark(key)
    this.#kick()
  }

  #lose(error: CellLost): void {
    this.#lost.abort(error)
    this.#reject(error)
    this.#db?.end()
  }

  /** The database went back to an earlier state, as after a failover or a restored backup: it gets again what it lacks. */
  async #comeBack(db: Database): Promise<void> {
    const { cell, files, mirror, sealer, log } = this.#options
    log.warn('The database of the cluster has lost what it had acknowledged; sending it again')
    mirror.forget()
    await compareLocal({ db, cell, files, mirror, sealer })
    const changes = await mirror.changed({ isFinal: true })
    this.#addDifferences(changes.filter(({ key }) => files.isOfTools(key)))
    for (const { key } of changes) if (!files.isOfTools(key)) this.#pending.mark(key)
    this.#ownerState.forget()
    this.#sender.repaired()
  }

  async #open(): Promise<Database> {
    const { clock, url, cell, log } = this.#options
    const next = await connect(url)
    try {
      if (!this.#sender.resume(await reclaim(next, cell, { epoch: this.epoch, clock })))
        await this.#comeBack(next)
    } catch (error) {
      next.end()
      throw error
    }
    if (this.#failures > 0) log.info('The database of the cluster answers again')
    next.ended.addEventListener('abort', () => this.#kick())
    return next
  }

  /** What this process wrote, then one statement of the rest. */
  async #work(db: Database): Promise<void> {
    const hasWritten = !this.#pending.isEmpty
    if (hasWritten) await this.#sender.flush(db)
    // An answer that was read long after it was sent, by a process that was paused, proves nothing about now.
    if (hasWritten && this.#lease.isValid()) this.#pending.resolveCommitted()
    if (!this.#backlog.isEmpty) await this.#sender.sendBacklog(db)
    else if (!hasWritten) await this.#sender.beat(db)
    if (this.#options.mirror.hasUnsaid) this.#leftOut.note()
    await this.#ownerState.send(db)
    if (!this.#lease.isValid()) return
    this.#pending.resolveCommitted()
    this.#backlog.resolveCommitted()
  }

  #onFailure(error: unknown): void {
    if (error instanceof CellLost) {
      this.#lose(error)
      return
    }
    this.#failures += 1
    if (this.#failures === 1) this.#options.log.warn(`${databaseProblem(error)}. Waiting for it`)
    if (sqlState(error) === RAISED) this.#sender.distrust()
    this.#db?.end()
    this.#db = null
  }

  #isIdle(): boolean {
    const [pending, rest] = [this.#pending, this.#backlog]
    const isDone = pending.isEmpty && rest.isEmpty && this.#ownerState.isSent
    return isDone && !pending.hasWaiters && !rest.hasWaiters
  }

  #isClosed(): boolean {
    return this.#phase === 'closed' || this.lost.aborted
  }

  async #run(): Promise<void> {
    while (!this.#isClosed()) {
      try {
        if (this.#db === null || this.#db.ended.aborted) this.#db = await this.#open()
        await this.#work(this.#db)
        this.#failures = 0
      } catch (error) {
        this.#onFailure(error)
      }
      const pause = Math.min(MAX_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(this.#failures, 10))
      // A failure is followed by a pause in any case: waking up for every write would only repeat it.
      if (this.#failures > 0) await this.#wake.sleep(pause)
      else if (this.#isIdle()) {
        this.#isAsleep = true
        await this.#wake.sleep(BEAT_MS)
        this.#isAsleep = false
      }
    }
  }

  #addDifferences(changes: readonly Difference[]): void {
    const { mirror, files } = this.#options
    for (const { key, rank } of changes) this.#backlog.add(key, rank)
    mirror.noteNames(changes)
    const folders = files.leftOut().join('\0')
    if (folders !== this.#foldersLeftOut) this.#leftOut.note()
    this.#foldersLeftOut = folders
  }

  /** Finds what other programs changed. */
  async #look(which: Parameters<Mirror['changed']>[0]): Promise<void> {
    const { mirror, log } = this.#options
    try {
      this.#addDifferences(await mirror.changed(which))
      this.#kick()
    } catch (error) {
      log.warn(`Couldn't look for changed files: ${messageOf(error)}`)
    }
  }

  async #sweep(): Promise<void> {
    const { clock } = this.#options
    const began = clock.monotonic()
    await this.#look({})
    this.#leftOut.note()
    const rest = Math.max(SWEEP_MS, SWEEP_REST * (clock.monotonic() - began))
    if (this.#phase === 'open') this.#stopSweep = clock.timer(rest, () => void this.#sweep())
  }
}
