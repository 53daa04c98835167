/** A cluster whose cells are kept in PostgreSQL. */
import { randomUUID } from 'node:crypto'
import { type Clock, every } from '../base/clock.ts'
import { messageOf } from '../errors.ts'
import { bringUp } from './bring-up.ts'
import { connect, type Database } from './database.ts'
import { readNote } from './directory-note.ts'
import { isMigrated, migrate, requireKnownTables } from './migrations.ts'
import { Mirror } from './mirror.ts'
import { startOwned } from './owned.ts'
import { type Claim, claim, showAlive } from './ownership.ts'
import { type Seal, Sealer, unsealed } from './seal.ts'
import { type CellPlace, type Cluster, ClusterError, type Owned } from './types.ts'

export type PostgresOptions = {
  clock: Clock
  url: string
  /** Seals what enters the database; null: files with secrets are left out. */
  key: string | null
  log: { info: (text: string) => void; warn: (text: string) => void }
}

const RETRY_MS = 1_000
/** How often a process that reads the files of its cell shows that it is alive. */
const ALIVE_MS = 2_000
const KEY_CHECK = Buffer.from('agent-webui')
const UNSEALED = Buffer.from('unsealed')

/** A sentence when the cell was written with another key, or with none. */
const keyProblem = (found: Buffer, key: string | null, sealer: Seal): string | null => {
  if (key === null)
    return found.equals(UNSEALED)
      ? null
      : 'The cell is sealed with a key. Set AGENT_WEBUI_CLUSTER_KEY_FILE to the file that has it.'
  if (found.equals(UNSEALED))
    return 'The cell was made without a key. Remove AGENT_WEBUI_CLUSTER_KEY_FILE, or use another name in AGENT_WEBUI_CLUSTER_CELL.'
  try {
    sealer.open(found, '')
    return null
  } catch {
    return 'The cell is sealed with another key than that of AGENT_WEBUI_CLUSTER_KEY_FILE.'
  }
}

/** Errors of the server that will not go away: a wrong password, a missing database. */
const isFinal = (error: unknown): boolean =>
  error instanceof ClusterError ||
  (error instanceof Error && 'code' in error && /^(?:28|3D|42)/.test(String(error.code)))

/** Throws what a start would end with: no database, tables of a newer version, another key. Changes nothing. */
export const checkCluster = async (
  { url, key }: Pick<PostgresOptions, 'url' | 'key'>,
  cell: string,
): Promise<void> => {
  const db = await connect(url)
  try {
    await requireKnownTables(db)
    // Made at the first start.
    if (!(await isMigrated(db))) return
    const [row] = await db.query('select key_check from agent_webui.cell where name = $1', [cell])
    const sealer = key === null ? unsealed : new Sealer(key, cell)
    const problem = row?.key_check instanceof Buffer ? keyProblem(row.key_check, key, sealer) : null
    if (problem !== null) throw new ClusterError(problem)
  } finally {
    db.end()
  }
}

export class PostgresCluster implements Cluster {
  readonly #clock: Clock
  readonly #url: string
  readonly #key: string | null
  readonly #log: { info: (text: string) => void; warn: (text: string) => void }

  constructor({ clock, url, key, log }: PostgresOptions) {
    this.#clock = clock
    this.#url = url
    this.#key = key
    this.#log = log
  }

  /** Waits until no other process owns the cell, takes it, and brings the files of this machine up to date. */
  async own(cell: string, place: CellPlace): Promise<Owned> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#begin(cell, place)
      } catch (error) {
        place.signal?.throwIfAborted()
        if (isFinal(error)) throw error
        // The database may start later than this process.
        if (attempt === 0)
          this.#log.warn(`The database of the cluster does not answer: ${messageOf(error)}`)
        await this.#clock.delay(RETRY_MS, place.signal)
      }
    }
  }

  async #take(
    cell: string,
    place: CellPlace,
    { sealer, directory }: { sealer: Seal; directory: string },
  ): Promise<{ db: Database; claimed: Claim }> {
    const db = await connect(this.#url)
    try {
      await migrate(db)
      const claimed = await claim(db, cell, {
        clock: this.#clock,
        directory,
        keyCheck: () => (this.#key === null ? UNSEALED : sealer.seal(KEY_CHECK, '')),
        check: found => {
          const problem = found && keyProblem(found, this.#key, sealer)
          if (problem) throw new ClusterError(problem)
        },
        signal: place.signal,
        onWait: place.onWait,
      })
      return { db, claimed }
    } catch (error) {
      db.end()
      throw error
    }
  }

  async #begin(cell: string, place: CellPlace): Promise<Owned> {
    const { files, stateDir } = place
    const sealer = this.#key === null ? unsealed : new Sealer(this.#key, cell)
    const note = readNote(stateDir)
    if (note && note.cell !== cell)
      throw new ClusterError(
        `${stateDir} belongs to the cell "${note.cell}", not to "${cell}". Use a state directory of its own for each cell.`,
      )
    const directory = note?.directory ?? randomUUID()
    const { db, claimed } = await this.#take(cell, place, { sealer, directory })
    // Without an answer the next statement fails as well.
    const alive = () => void showAlive(db, cell, claimed.epoch).catch(() => undefined)
    const stopSigns = every(this.#clock, ALIVE_MS, alive)
    try {
      const mirror = new Mirror(files, { sealer, warn: this.#log.warn })
      const since = note?.epoch ?? 0
      const given = { db, cell, files, stateDir, sealer, mirror, since, isKnown: note !== null }
      const isBehind = await bringUp({ ...given, now: this.#clock.now(), warn: this.#log.warn })
      const tookOver = isBehind || note?.isTakingOver === true
      const token = place.token ?? null
      return await startOwned({
        clock: this.#clock,
        ...given,
        tookOver,
        ...claimed,
        url: this.#url,
        directory,
        token,
        log: this.#log,
      })
    } catch (error) {
      db.end()
      throw error
    } finally {
      stopSigns()
    }
  }
}
