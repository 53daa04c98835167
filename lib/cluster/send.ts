/** Sends changes to the database, each once, in one statement that checks the owner. */
import { setImmediate } from 'node:timers/promises'
import { messageOf } from '../errors.ts'
import { Backlog } from './backlog.ts'
import { placeOf } from './bring-up.ts'
import { type Database, isRefusal } from './database.ts'
import { type FileChange, type Mirror, SLICE } from './mirror.ts'
import { dropTraces } from './ownership.ts'
import type { Pending } from './pending.ts'
import type { Sealer } from './seal.ts'
import { CellLost } from './cluster.ts'

/** Of one statement, roughly: a line of 2 Mbit/s carries it within a sign of life. */
const BATCH_BYTES = 1 << 20
const BATCH_CHANGES = 1_000
/** Of deleted files, before the database forgets those that no other machine had. */
const MAX_TRACES = 1_000

const sizeOf = (change: FileChange): number =>
  change.kind === 'write' || change.kind === 'gone' ? change.size : change.bytes.length
const modeOf = (change: FileChange): number =>
  change.kind === 'write' || change.kind === 'gone' ? change.mode : 0
const digestOf = (change: FileChange): Buffer | null =>
  change.kind === 'write' || change.kind === 'gone' ? change.digest : null
const atOf = (change: FileChange): number => (change.kind === 'gone' ? 0 : change.at)
const versionOf = (change: FileChange): number => (change.kind === 'gone' ? 0 : change.version)

export class Sender {
  readonly #cell
  readonly #epoch
  readonly #mirror
  readonly #sealer
  readonly #pending
  readonly #backlog
  readonly #asks
  #batch: number
  #isBehind = false
  #traces = 0
  /** Sent, without an answer so far. */
  #unsure: readonly FileChange[] = []

  constructor(options: {
    cell: string
    epoch: number
    /** Number of the last statement of the earlier owner. */
    batch: number
    mirror: Mirror
    sealer: Sealer
    pending: Pending
    backlog: Backlog
    /** Called before each statement, and what it returns after the answer. */
    asks: () => () => void
  }) {
    const { cell, epoch, mirror, sealer, pending, backlog, asks } = options
    this.#cell = cell
    this.#epoch = epoch
    this.#mirror = mirror
    this.#sealer = sealer
    this.#pending = pending
    this.#backlog = backlog
    this.#asks = asks
    this.#batch = options.batch
  }

  /** Only shows the database that this process is alive. */
  beat(db: Database): Promise<void> {
    return this.#push(db, this.#batch, [])
  }

  /** Sends everything that is pending now. After an error, all of it is pending again. */
  async flush(db: Database): Promise<void> {
    const { keys, upTo } = this.#pending.take()
    try {
      const rest = new Backlog()
      for (const key of this.#expand(keys)) rest.add(key)
      while (!rest.isEmpty) await this.#sendSome(db, rest)
      this.#pending.commit(upTo)
    } catch (error) {
      this.#pending.giveBack(keys)
      throw error
    }
  }

  /** One statement of what others wrote, so that what this process writes never waits behind a large file, or many. */
  sendBacklog(db: Database): Promise<void> {
    return this.#sendSome(db, this.#backlog)
  }

  /**
   * On a new connection: `last` is the number of the last statement that the database has. False when it went back, until
   * `repaired` is called, also on later connections: it has less than it acknowledged.
   */
  resume(last: number): boolean {
    const unsure = this.#unsure
    this.#unsure = []
    if (last < this.#batch) this.#isBehind = true
    if (unsure.length > 0 && last > this.#batch)
      for (const change of unsure) this.#mirror.applied(change)
    this.#batch = last
    return !this.#isBehind
  }

  /** What the database has is known again. */
  repaired(): void {
    this.#isBehind = false
  }

  /** The database rejected a statement although this process is the owner: it may not have what we believe. */
  distrust(): void {
    for (const { key } of this.#unsure) this.#mirror.distrust(key)
    this.#unsure = []
  }

  /** A file that the database refuses by itself is set aside; the others continue. */
  async #send(db: Database, changes: readonly FileChange[]): Promise<void> {
    try {
      this.#unsure = changes
      await this.#push(db, this.#batch + 1, changes)
      this.#batch += 1
      this.#unsure = []
      for (const change of changes) this.#mirror.applied(change)
    } catch (error) {
      if (!isRefusal(error)) throw error
      this.#unsure = []
      const [first, ...others] = changes
      if (first && others.length === 0) return this.#mirror.skip(first.key, messageOf(error))
      for (const change of changes) await this.#send(db, [change])
    }
  }

  async #push(db: Database, number: number, changes: readonly FileChange[]): Promise<void> {
    const answered = this.#asks()
    const [row] = await db.query(
      'select agent_webui.push($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) as result',
      [
        this.#cell,
        this.#epoch,
        number,
        changes.map(({ kind }) => kind),
        changes.map(({ key }) => key),
        changes.map(versionOf),
        changes.map(atOf),
        changes.map(sizeOf),
        changes.map(modeOf),
        changes.map(digestOf),
        changes.map(change => this.#sealer.seal(change.bytes, placeOf(change.key, atOf(change)))),
      ],
    )
    if (row?.result === 'lost') throw new CellLost('Another process owns the cell')
    answered()
  }

  #expand(keys: readonly string[]): string[] {
    return [...new Set(keys.flatMap(key => this.#mirror.expand(key)))]
  }

  async #sendSome(db: Database, backlog: Backlog): Promise<void> {
    const { changes, keys } = await this.#collect(backlog)
    if (changes.length > 0) await this.#send(db, changes)
    for (const key of keys) backlog.end(key)
    this.#traces += changes.filter(({ kind }) => kind === 'gone').length
    if (this.#traces <= MAX_TRACES) return
    await dropTraces(db, this.#cell)
    this.#traces = 0
  }

  /** The changes of one statement, and the files that the database then has. */
  async #collect(backlog: Backlog): Promise<{ changes: FileChange[]; keys: string[] }> {
    const changes: FileChange[] = []
    const keys: string[] = []
    const seen = new Set<string>()
    let bytes = 0
    let isUnfinished = false
    for (const entry of backlog.entries()) {
      const { key, rank } = entry
      if (bytes > BATCH_BYTES || changes.length >= BATCH_CHANGES) break
      // What comes after the content waits for all of it, in several statements too.
      if (rank !== 'content' && isUnfinished) break
      if (seen.has(key)) continue
      seen.add(key)
      if (seen.size % SLICE === 0) await setImmediate()
      backlog.begin(entry)
      const change = rank === 'names' ? this.#mirror.readName(key) : this.#mirror.read(key)
      if (change?.kind === 'gone' && rank !== 'gone') {
        seen.delete(key)
        backlog.moveToGone(key)
        continue
      }
      if (change) changes.push(change)
      bytes += change?.bytes.length ?? 0
      if (change?.isPartial) isUnfinished = true
      else keys.push(key)
    }
    return { changes, keys }
  }
}
