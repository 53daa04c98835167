/** A cluster whose cells are kept in PostgreSQL. */
import { randomUUID } from 'node:crypto'
import { type Clock, every } from '../base/clock.ts'
import { BEAT_MS } from '../base/cluster-settings.ts'
import { bringUp } from './bring-up.ts'
import { connect, type Database, databaseProblem, throwFinal } from './database.ts'
import { type DirectoryNote, readNote } from './directory-note.ts'
import { isMigrated, migrate, requireKnownTables } from './migrations.ts'
import { Mirror } from './mirror.ts'
import { notCopied, onlyHere } from './not-copied.ts'
import { PostgresOwned } from './owned.ts'
import { type Claim, claim, isKnownClaim, showAlive } from './ownership.ts'
import { Sealer } from './seal.ts'
import { messageOf } from '../errors.ts'
import { errorCode } from '../store/file-error.ts'
import { type CellPlace, type Cluster, ClusterError, NO_FILES, type Owned } from './cluster.ts'

export type PostgresOptions = {
  clock: Clock
  url: string
  /** Seals what enters the database; null for cells on volumes. */
  key: string | null
  log: { info: (text: string) => void; warn: (text: string) => void }
}

const RETRY_MS = 1_000
const KEY_CHECK = Buffer.from('agent-webui')
/** The key check of cells that earlier versions made without a key. */
const UNSEALED = Buffer.from('unsealed')
/** Of cells on volumes. */
const VOLUME = Buffer.from('volume')

/** A sentence when the cell was written with another key, is on a volume or is not, or was made before keys were needed. */
const keyProblem = (keyCheck: Buffer, key: string | null, cell: string): string | null => {
  if (keyCheck.equals(UNSEALED))
    return `The cell was made without a key, which is not possible any more. Its last machine has all of its files: run agent-webui cells remove ${cell} --purge, and start that machine first, with AGENT_WEBUI_CLUSTER_KEY_FILE.`
  if (keyCheck.equals(VOLUME))
    return key === null
      ? null
      : 'The files of the cell are on a volume. Set AGENT_WEBUI_CLUSTER_FILES to volume.'
  if (key === null)
    return 'The database has the files of the cell. Set AGENT_WEBUI_CLUSTER_FILES to mirror.'
  try {
    new Sealer(key, cell).open(keyCheck, '')
    return null
  } catch {
    return 'The cell is sealed with another key than that of AGENT_WEBUI_CLUSTER_KEY_FILE.'
  }
}

/** What has to do with the files of this machine, such as a full disk. */
const isLocal = (error: unknown): boolean =>
  error instanceof Error && ('path' in error || /^(?:ENOSPC|EDQUOT|EIO)$/.test(errorCode(error)))

const requireRights = async (db: Database): Promise<void> => {
  const [row] = await db.query(
    `select has_database_privilege(current_database(), 'CREATE') or to_regnamespace('agent_webui') is not null as may`,
  )
  if (row?.may !== true) throw new ClusterError('The user of the database may not create schemas.')
}

/** Throws what a start would end with: no database, tables of a newer version, another key. Changes nothing. */
export const checkCluster = async (
  { url, key }: { url: string; key: string | null },
  cell: string,
): Promise<void> => {
  const db = await connect(url)
  try {
    await requireKnownTables(db)
    // Made at the first start.
    if (!(await isMigrated(db))) return await requireRights(db)
    const [row] = await db.query('select key_check from agent_webui.cell where name = $1', [cell])
    const keyCheck = row?.key_check
    const problem = keyCheck instanceof Buffer ? keyProblem(keyCheck, key, cell) : null
    if (problem !== null) throw new ClusterError(problem)
  } finally {
    db.end()
  }
}

export class PostgresCluster implements Cluster {
  readonly #options: PostgresOptions

  constructor(options: PostgresOptions) {
    this.#options = options
  }

  /** Waits until no other process owns the cell, takes it, and brings the files of this machine up to date. */
  async own(cell: string, place: CellPlace): Promise<Owned> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        return await this.#begin(cell, place)
      } catch (error) {
        place.signal?.throwIfAborted()
        throwFinal(error)
        const problem = isLocal(error)
          ? `The files of the cell cannot be brought here: ${messageOf(error)}`
          : databaseProblem(error)
        // Another worker may have room.
        if (isLocal(error) && place.token !== undefined) throw new Error(problem, { cause: error })
        // The database may start later than this process.
        if (attempt === 0) this.#options.log.warn(problem)
        await this.#options.clock.delay(RETRY_MS, place.signal)
      }
    }
  }

  async #take(
    cell: string,
    { stateDir, signal, onWait }: CellPlace,
    { sealer, directory, note }: { sealer: Sealer; directory: string; note: DirectoryNote | null },
  ): Promise<{ db: Database; claimed: Claim }> {
    const db = await connect(this.#options.url)
    try {
      await migrate(db)
      const claimed = await claim(db, cell, {
        clock: this.#options.clock,
        directory,
        since: note?.epoch ?? 0,
        keyCheck: () => (this.#options.key === null ? VOLUME : sealer.seal(KEY_CHECK, '')),
        check: ({ keyCheck, id }) => {
          const problem = keyCheck && keyProblem(keyCheck, this.#options.key, cell)
          if (problem) throw new ClusterError(problem)
          if (note?.id !== undefined && note.id !== id)
            throw new ClusterError(
              `${stateDir} belongs to an earlier cell "${cell}", which was removed. Use an empty state directory.`,
            )
        },
        signal,
        onWait,
      })
      return { db, claimed }
    } catch (error) {
      db.end()
      throw error
    }
  }

  async #begin(cell: string, place: CellPlace): Promise<Owned> {
    const { files, stateDir } = place
    // Nothing of a volume is sealed.
    const sealer = new Sealer(this.#options.key ?? '', cell)
    const note = readNote(stateDir)
    if (note && note.cell !== cell)
      throw new ClusterError(
        `${stateDir} belongs to the cell "${note.cell}", not to "${cell}". Use a state directory of its own for each cell.`,
      )
    const directory = note?.directory ?? randomUUID()
    const { db, claimed } = await this.#take(cell, place, { sealer, directory, note })
    // Without an answer the next statement fails as well.
    const alive = () => void showAlive(db, cell, claimed.epoch).catch(() => undefined)
    const stopSigns = every(this.#options.clock, BEAT_MS, alive)
    try {
      const mirror = new Mirror(files ?? NO_FILES, { sealer, warn: this.#options.log.warn })
      const here = onlyHere(stateDir)
      const common = { cell, files: files ?? NO_FILES, stateDir, sealer, mirror }
      const missingKeys =
        files &&
        (await bringUp({
          ...common,
          db,
          note: note && (await this.#trusted(db, note, claimed)),
          now: this.#options.clock.now(),
          warn: this.#options.log.warn,
        }))
      const inherited = notCopied(stateDir).filter(key => !here.has(key))
      return await PostgresOwned.begin({
        ...common,
        ...this.#options,
        db,
        claimed,
        directory,
        leftOut: { here, inherited: new Set(inherited) },
        missing: missingKeys
          ? [...inherited, ...missingKeys].flatMap(key => files?.pathOf(key) ?? [])
          : [],
        tookOver: missingKeys !== null || note?.isTakingOver === true,
        token: place.token ?? null,
      })
    } catch (error) {
      db.end()
      throw error
    } finally {
      stopSigns()
    }
  }

  /** With epoch 0 where the database has given the number of that owner to another one: it went back in between. */
  async #trusted(db: Database, note: DirectoryNote, claimed: Claim): Promise<DirectoryNote> {
    const { epoch, claim } = note
    if (epoch === 0 || claim === undefined || epoch > claimed.previousEpoch) return note
    return (await isKnownClaim(db, note.cell, { epoch, claim })) ? note : { ...note, epoch: 0 }
  }
}
