/** The life of an owner: sends what is written, gives signs of life, and connects again when the database was away. */
import { type Clock, every } from '../base/clock.ts'
import { createWake } from '../base/wake.ts'
import { messageOf } from '../errors.ts'
import { onWrite } from '../store/write-reports.ts'
import { connect, type Database, sqlState } from './database.ts'
import { writeNote } from './directory-note.ts'
import { giveUp, reclaim, showStatus } from './ownership.ts'
import type { Mirror } from './mirror.ts'
import { Pending } from './pending.ts'
import type { Seal } from './seal.ts'
import { Sender } from './send.ts'
import { type CellFiles, CellLost, type CellStatus, type Owned } from './types.ts'

/** An idle owner shows that it is alive. */
const BEAT_MS = 2_000
/** After this time without an answer of the database, another process may soon be the owner: shorter than STALE_MS. */
const LEASE_MS = 6_000
/** Other programs change files too. */
const SWEEP_MS = 5_000
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
  sealer: Seal
  epoch: number
  tookOver: boolean
  batch: number
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
  readonly #epoch: number
  #isTakingOver: boolean

  constructor({ stateDir, cell, directory, epoch, tookOver }: OwnedOptions) {
    this.#stateDir = stateDir
    this.#cell = cell
    this.#directory = directory
    this.#epoch = epoch
    this.#isTakingOver = tookOver
  }

  write(isClean: boolean): void {
    writeNote(this.#stateDir, {
      cell: this.#cell,
      directory: this.#directory,
      epoch: this.#epoch,
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

export const startOwned = async (options: OwnedOptions): Promise<Owned> => {
  const { clock, url, cell, files, mirror, epoch, log } = options
  const pending = new Pending()
  const sender = new Sender({ ...options, pending })
  const lease = new Lease(clock)
  const lost = new AbortController()
  const wake = createWake(clock)
  let db: Database | null = options.db
  let address: string | null = null
  let announced: string | null = null
  let status: CellStatus | null = null
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

  const open = async (): Promise<Database> => {
    const next = await connect(url)
    try {
      sender.resume(await reclaim(next, cell, { epoch, clock }))
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
    if (pending.isEmpty) await sender.beat(on)
    else await sender.flush(on)
    if (announced !== address) {
      const text = address
      await on.query(
        'update agent_webui.cell set address = $3, token = $4 where name = $1 and epoch = $2',
        [cell, epoch, text, options.token],
      )
      announced = text
    }
    if (status) {
      const shown = status
      await showStatus(on, cell, { ...shown, epoch })
      if (status === shown) status = null
    }
    lease.renew(sentAt)
    // An answer that was read long after it was sent, by a process that was paused, proves nothing about now.
    if (lease.isValid()) pending.resolveCommitted()
  }

  const onFailure = (error: unknown): void => {
    if (error instanceof CellLost) {
      lose(error)
      return
    }
    failures += 1
    if (failures === 1)
      log.warn(`The database of the cluster does not answer; waiting for it: ${messageOf(error)}`)
    if (sqlState(error) === RAISED) sender.distrust()
    db?.end()
    db = null
  }

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
      else if (pending.isEmpty && !pending.hasWaiters && announced === address && !status) {
        isAsleep = true
        await wake.sleep(BEAT_MS)
        isAsleep = false
      }
    }
  }

  const look = async (): Promise<void> => {
    try {
      for (const key of await mirror.changed()) mark(key)
    } catch (error) {
      log.warn(`Couldn't look for changed files: ${messageOf(error)}`)
    }
  }
  let looking: Promise<void> | null = null
  const sweep = (): Promise<void> => {
    looking ??= look().finally(() => {
      looking = null
    })
    return looking
  }
  // From here on, every write of this process is seen.
  const unlisten = onWrite(path => {
    const key = files.keyOf(path)
    if (key !== null) mark(key)
  })
  await sweep()
  options.db.ended.addEventListener('abort', kick)
  const running = run()
  const stopSweeping = every(clock, SWEEP_MS, () => void sweep())

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
      address = next
      note.serves()
      kick()
    },
    report(next) {
      status = next
      kick()
    },
    async release(timeoutMs, wakeAt = null) {
      stopSweeping()
      if (phase !== 'open') return
      phase = 'releasing'
      await sweep()
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
