/**
 * Who serves a cell, and what starts it when no one does. A forwarder writes into the row of the cell that a request waits;
 * workers read that, and the one whose update of the row comes first starts the cell. So neither needs an address or a secret
 * of the other, and a forwarder that ends in between leaves nothing undone.
 */
import type { Clock } from '../base/clock.ts'
import { STALE_MS } from '../base/cluster-settings.ts'
import type { Database, Reader, DatabaseRow } from './database.ts'
import { KNOWN_STEP } from './migrations.ts'

export type Owner = {
  address: string
  epoch: number
  /** Proves to the owner that a request comes from a forwarder; null: it does not ask for it. */
  token: string | null
}

/**
 * After asking for a cell. `starting`: a worker does it, or will in a moment. `full`: no worker has capacity. `none`: no worker that may run it
 * is there. `unmanaged`: it is not run by workers, or has an owner.
 */
export type AskResult = 'starting' | 'full' | 'none' | 'unmanaged'

/** A request that waits asks again long before. */
const ASKED_MS = 30_000
/** A start that took longer has failed. */
const START_MS = 30_000
const CHANNEL = 'agent_webui_asked'

const ms = (value: number): string => `interval '${value} milliseconds'`
const IS_ALIVE = `w.seen > clock_timestamp() - ${ms(STALE_MS)}`
const IS_SILENT = `c.seen < clock_timestamp() - ${ms(STALE_MS)}`
/** No process has it. An owner that hangs still holds its lock. */
const IS_FREE = `(c.is_released or ${IS_SILENT} or not agent_webui.is_held(c.name))`
/** By a worker that still is there. */
export const IS_STARTING = `(c.started > clock_timestamp() - ${ms(START_MS)}
  and exists (select from agent_webui.worker w where w.name = c.worker and ${IS_ALIVE}))`
/** A cell asks for labels; each worker has its own name as one. */
const MAY_RUN = 'c.labels <@ (w.labels || w.name) and c.name <> all(w.avoids) and not w.is_draining'
/** Of a worker. No other connection uses it. */
const NAME_LOCK = "hashtextextended('agent-webui worker ' || $1, 0)"

const askResultOf = (row: DatabaseRow | undefined): AskResult => {
  if (row === undefined) return 'unmanaged'
  if (row.is_starting === true || row.has_capacity === true) return 'starting'
  return row.has_worker === true ? 'full' : 'none'
}

/** The process that serves a cell; null when there is none. */
export const ownerOf = async (db: Reader, cell: string): Promise<Owner | null> => {
  const [row] = await db.query(
    `select address, epoch, token from agent_webui.cell
     where name = $1 and not is_released and address is not null
       and seen > clock_timestamp() - ${ms(STALE_MS)}`,
    [cell],
  )
  if (!row) return null
  const token = typeof row.token === 'string' ? row.token : null
  return { address: String(row.address), epoch: Number(row.epoch), token }
}

/** Asks the workers to start a cell that no process serves. */
export const askFor = async (db: Reader, cell: string): Promise<AskResult> => {
  const [row] = await db.query(
    `with target as (
       select c.name, c.labels, c.worker,
         ${IS_STARTING} as is_starting
       from agent_webui.cell c where c.name = $1 and c.is_managed and ${IS_FREE}
     ), asked as (
       update agent_webui.cell c set asked = clock_timestamp() from target where c.name = target.name
     )
     select c.is_starting, pg_notify('${CHANNEL}', ''),
       exists (select from agent_webui.worker w where ${IS_ALIVE} and ${MAY_RUN} and w.used < w.capacity) as has_capacity,
       exists (select from agent_webui.worker w where ${IS_ALIVE} and ${MAY_RUN}) as has_worker
     from target c`,
    [cell],
  )
  return askResultOf(row)
}

export type WorkerState = {
  name: string
  address: string
  capacity: number
  /** Cells that it runs. */
  used: number
  labels: readonly string[]
  /** Cells that keep ending here: others may be able to run them. */
  avoids: readonly string[]
}

/** `hasEnded`: the last process ended in order, or is about to. */
export type CellToStart = { cell: string; hasEnded: boolean }

/**
 * What a worker does in the database, on its own connection. When it is `quietMs` old, a cell that is silent has ended: before,
 * the database may have been away, and all were silent.
 */
export class WorkerRecord {
  readonly #db: Database
  readonly #clock: Clock
  readonly #quietMs: number
  readonly #openedAt: number

  constructor(db: Database, { clock, quietMs = STALE_MS }: { clock: Clock; quietMs?: number }) {
    this.#db = db
    this.#clock = clock
    this.#quietMs = quietMs
    this.#openedAt = clock.monotonic()
  }

  /** False when a process with this name is a worker already. One that hangs, or whose network is gone, is replaced soon. */
  async begin(name: string): Promise<boolean> {
    const [row] = await this.#db.query(`select pg_try_advisory_lock(${NAME_LOCK}) as got`, [name])
    if (row?.got !== true) {
      await this.#db.query(
        `select pg_terminate_backend(l.pid) from pg_locks l, agent_webui.worker w
         where w.name = $1 and not ${IS_ALIVE} and l.locktype = 'advisory' and l.granted and l.objsubid = 1
           and l.database = (select oid from pg_database where datname = current_database())
           and ((l.classid::bigint << 32) | l.objid::bigint) = ${NAME_LOCK}`,
        [name],
      )
      return false
    }
    await this.#db.query(`listen ${CHANNEL}`)
    await this.#db.query('update agent_webui.worker set is_draining = false where name = $1', [
      name,
    ])
    // The processes of an earlier worker have ended with it, and not in order when it was killed with them.
    await this.#db.query(
      `update agent_webui.cell c set started = null,
         asked = case when c.is_released then c.asked else clock_timestamp() end
       where c.worker = $1 and c.is_managed and ${IS_FREE}`,
      [name],
    )
    return true
  }

  /** False when the tables are those of a newer version: the cells that run are left as they are, and no more can be started. */
  async beat({ name, address, capacity, used, labels, avoids }: WorkerState): Promise<boolean> {
    const [row] = await this.#db.query(
      `insert into agent_webui.worker (name, address, capacity, used, labels, avoids, seen)
       values ($1, $2, $3, $4, $5, $6, clock_timestamp())
       on conflict (name) do update set address = excluded.address, capacity = excluded.capacity,
         used = excluded.used, labels = excluded.labels, avoids = excluded.avoids, seen = excluded.seen
       returning (select max(step) from agent_webui.migration) as step`,
      [name, address, capacity, used, labels, avoids],
    )
    return Number(row?.step) <= KNOWN_STEP
  }

  /** How far the clock of this machine is ahead of that of the database, in milliseconds; below 0: behind. */
  async skew(): Promise<number> {
    const began = this.#clock.now()
    const [row] = await this.#db.query('select extract(epoch from clock_timestamp()) * 1000 as now')
    return (began + this.#clock.now()) / 2 - Number(row?.now)
  }

  /** No cell is left to it from now on. */
  end(name: string): Promise<unknown> {
    return this.#db.query('delete from agent_webui.worker where name = $1', [name])
  }

  /** Of these, those that this worker shall end: it drains, or they were removed or moved to another one. */
  async leaving(name: string, cells: readonly string[]): Promise<string[]> {
    if (cells.length === 0) return []
    const rows = await this.#db.query(
      `select c.name from agent_webui.cell c join agent_webui.worker w on w.name = $1
       where c.name = any($2) and c.is_managed and c.worker = $1 and not w.is_draining`,
      [name, cells],
    )
    const stays = new Set(rows.map(row => String(row.name)))
    return cells.filter(cell => !stays.has(cell))
  }

  /** Leaves these cells to other workers that have room for them; without one they stay. */
  async leave(name: string, cells: readonly string[]): Promise<void> {
    if (cells.length === 0) return
    await this.#db.query(
      `update agent_webui.cell c set worker = null, asked = clock_timestamp()
       where c.name = any($2) and c.worker = $1 and exists (
         select from agent_webui.worker w
         where w.name <> $1 and ${IS_ALIVE} and ${MAY_RUN} and w.used < w.capacity)`,
      [name, cells],
    )
  }

  /** Of these ids, those of cells that were purged. */
  async purged(ids: readonly string[]): Promise<string[]> {
    if (ids.length === 0) return []
    const rows = await this.#db.query(
      'select id from agent_webui.purged where id = any($1::uuid[])',
      [ids],
    )
    return rows.map(({ id }) => String(id))
  }

  /**
   * A cell to start, which no other worker starts then; null when there is none. It is one that a request waits for, that has
   * something to do now, or whose owner did not end in order. The worker that ran it last has its directory, so that one comes
   * first, and then the one that runs the fewest. `running`: here; only one that has ended or hangs is started again.
   */
  async take({ name, used }: WorkerState, running: readonly string[]): Promise<CellToStart | null> {
    const [row] = await this.#db.query(
      `update agent_webui.cell set worker = $1, started = clock_timestamp()
       where name = (
         select c.name from agent_webui.cell c
         join agent_webui.worker w on w.name = $1
         where c.is_managed and ${IS_FREE} and ${MAY_RUN}
           and case when c.name = any($3) then c.is_released or (${IS_SILENT} and $4) else $2 < w.capacity end
           and (c.is_released or c.worker is null or c.worker = $1 or $4)
           and (c.asked > clock_timestamp() - ${ms(ASKED_MS)} or c.wake <= clock_timestamp()
             or (not c.is_released and ${IS_SILENT}))
           and ${IS_STARTING} is not true
           and (c.worker is not distinct from $1 or not exists (
             select from agent_webui.worker w where w.name <> $1 and ${IS_ALIVE} and w.used < w.capacity
               and ${MAY_RUN} and (w.name = c.worker or w.used < $2)))
         order by coalesce(c.asked, c.wake, c.seen) limit 1
         for update of c skip locked
       ) returning name, is_released`,
      [name, used, running, this.#clock.monotonic() - this.#openedAt >= this.#quietMs],
    )
    return row ? { cell: String(row.name), hasEnded: row.is_released === true } : null
  }

  /** The cell ended by itself, and not in order: it is started again, unless another worker has taken it. */
  failed(name: string, cell: string): Promise<unknown> {
    return this.#db.query(
      'update agent_webui.cell set asked = clock_timestamp(), started = null where name = $2 and worker = $1',
      [name, cell],
    )
  }
}
