/** Sends changes to the database, each once, in one statement that checks the owner. */
import { messageOf } from '../errors.ts'
import { placeOf } from './bring-up.ts'
import { type Database, isRefusal } from './database.ts'
import type { Change, Mirror } from './mirror.ts'
import type { Pending } from './pending.ts'
import type { Sealer } from './seal.ts'
import { CellLost } from './cluster.ts'

/** Of one statement, roughly: a line of 2 Mbit/s carries it within a sign of life. */
const BATCH_BYTES = 1 << 20
const BATCH_CHANGES = 1_000

const atOf = (change: Change): number => (change.kind === 'gone' ? 0 : change.at)
const versionOf = (change: Change): number => (change.kind === 'gone' ? 0 : change.version)

export class Sender {
  readonly #cell
  readonly #epoch
  readonly #mirror
  readonly #sealer
  readonly #pending
  #batch: number
  #isBehind = false
  /** Sent, without an answer so far. */
  #unsure: readonly Change[] = []

  constructor(options: {
    cell: string
    epoch: number
    /** Number of the last statement of the earlier owner. */
    batch: number
    mirror: Mirror
    sealer: Sealer
    pending: Pending
  }) {
    const { cell, epoch, mirror, sealer, pending } = options
    this.#cell = cell
    this.#epoch = epoch
    this.#mirror = mirror
    this.#sealer = sealer
    this.#pending = pending
    this.#batch = options.batch
  }

  /** Only shows the database that this process is alive. */
  beat(db: Database): Promise<void> {
    return this.#push(db, this.#batch, [])
  }

  /** Sends everything that is pending now. After an error, the rest is pending again. */
  async flush(db: Database): Promise<void> {
    const { keys, upTo } = this.#pending.take()
    let left = keys
    try {
      left = this.#expand(keys)
      while (left.length > 0) left = await this.#sendSome(db, left)
      this.#pending.commit(upTo)
    } catch (error) {
      this.#pending.giveBack(left)
      throw error
    }
  }

  /** One statement of what nobody waits for, so that what somebody waits for never waits behind a large file. */
  async flushLater(db: Database): Promise<void> {
    const keys = this.#pending.takeLater()
    let left = keys
    try {
      left = this.#expand(keys)
      left = await this.#sendSome(db, left)
    } finally {
      for (const key of left) this.#pending.markLater(key)
    }
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
  async #send(db: Database, changes: readonly Change[]): Promise<void> {
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

  async #push(db: Database, number: number, changes: readonly Change[]): Promise<void> {
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
        changes.map(change => (change.kind === 'write' ? change.size : change.bytes.length)),
        changes.map(change => (change.kind === 'write' ? change.mode : 0)),
        changes.map(change => (change.kind === 'write' ? change.digest : null)),
        changes.map(change => this.#sealer.seal(change.bytes, placeOf(change.key, atOf(change)))),
      ],
    )
    if (row?.result === 'lost') throw new CellLost('Another process owns the cell')
  }

  #expand(keys: readonly string[]): string[] {
    return [...new Set(keys.flatMap(key => this.#mirror.expand(key)))]
  }

  /** One statement; returns what is left. */
  async #sendSome(db: Database, keys: readonly string[]): Promise<string[]> {
    const { changes, rest } = this.#collect(keys)
    if (changes.length > 0) await this.#send(db, changes)
    return rest
  }

  /** The changes of one statement. Files with more to send stay in `rest`, behind the others. */
  #collect(keys: readonly string[]): { changes: Change[]; rest: string[] } {
    const changes: Change[] = []
    const gone: Change[] = []
    const rest: string[] = []
    const unfinished: string[] = []
    let bytes = 0
    for (const key of keys) {
      if (bytes > BATCH_BYTES || changes.length >= BATCH_CHANGES) {
        rest.push(key)
        continue
      }
      const change = this.#mirror.read(key)
      if (!change) continue
      if (change.kind === 'gone') {
        gone.push(change)
        continue
      }
      changes.push(change)
      bytes += change.bytes.length
      if (change.isPartial) unfinished.push(key)
    }
    const left = [...rest, ...unfinished]
    // Last: a file may have been renamed, and its content must not be missing in between.
    if (left.length === 0) return { changes: [...changes, ...gone], rest: [] }
    return { changes, rest: [...left, ...gone.map(({ key }) => key)] }
  }
}
