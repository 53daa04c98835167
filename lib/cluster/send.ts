/** Sends changes to the database, each once, in one statement that checks the owner. */
import { placeOf } from './bring-up.ts'
import type { Database } from './database.ts'
import type { Change, Mirror } from './mirror.ts'
import type { Pending } from './pending.ts'
import type { Seal } from './seal.ts'
import { CellLost } from './types.ts'

/** Of one statement, roughly. */
const BATCH_BYTES = 4 << 20

const bytesOf = (change: Change): Buffer =>
  change.kind === 'gone' ? Buffer.alloc(0) : change.bytes

export class Sender {
  readonly #cell
  readonly #epoch
  readonly #mirror
  readonly #sealer
  readonly #pending
  #batch: number
  /** Sent, without an answer so far. */
  #unsure: readonly Change[] = []

  constructor(options: {
    cell: string
    epoch: number
    /** Number of the last statement of the earlier owner. */
    batch: number
    mirror: Mirror
    sealer: Seal
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
      left = [...new Set(keys.flatMap(key => this.#mirror.expand(key)))]
      while (left.length > 0) {
        const { changes, rest } = this.#collect(left)
        if (changes.length > 0) {
          this.#unsure = changes
          await this.#push(db, this.#batch + 1, changes)
          this.#batch += 1
          this.#unsure = []
          for (const change of changes) this.#mirror.applied(change)
        }
        left = rest
      }
      this.#pending.commit(upTo)
    } catch (error) {
      this.#pending.giveBack(left)
      throw error
    }
  }

  /** On a new connection: `last` is the number of the last statement that the database has. */
  resume(last: number): void {
    if (this.#unsure.length > 0 && last > this.#batch) {
      this.#batch = last
      for (const change of this.#unsure) this.#mirror.applied(change)
    }
    this.#unsure = []
  }

  /** The database rejected a statement although this process is the owner: it may not have what we believe. */
  distrust(): void {
    for (const { key } of this.#unsure) this.#mirror.distrust(key)
    this.#unsure = []
  }

  async #push(db: Database, number: number, changes: readonly Change[]): Promise<void> {
    const sealed = changes.map(change => {
      const at = change.kind === 'append' ? change.at : 0
      return this.#sealer.seal(bytesOf(change), placeOf(change.key, at))
    })
    const [row] = await db.query(
      'select agent_webui.push($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) as result',
      [
        this.#cell,
        this.#epoch,
        number,
        changes.map(({ kind }) => kind),
        changes.map(({ key }) => key),
        changes.map(change => (change.kind === 'append' ? change.at : 0)),
        changes.map(change => bytesOf(change).length),
        changes.map(change => (change.kind === 'write' ? change.mode : 0)),
        changes.map(change => (change.kind === 'write' ? change.digest : null)),
        sealed,
      ],
    )
    if (row?.result === 'lost') throw new CellLost('Another process owns the cell')
  }

  /** The changes of one statement. Files with more to send stay in `rest`. */
  #collect(keys: readonly string[]): { changes: Change[]; rest: string[] } {
    const changes: Change[] = []
    const gone: Change[] = []
    const rest: string[] = []
    let bytes = 0
    for (const key of keys) {
      if (bytes > BATCH_BYTES) {
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
      bytes += bytesOf(change).length
      if (change.isPartial) rest.push(key)
    }
    // Last: a file may have been renamed, and its content must not be missing in between.
    if (rest.length === 0) return { changes: [...changes, ...gone], rest }
    return { changes, rest: [...rest, ...gone.map(({ key }) => key)] }
  }
}
