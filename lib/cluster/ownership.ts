/** Who owns a cell: an advisory lock of the owner's connection, and an epoch that every write is checked against. */
import { createHash, randomUUID } from 'node:crypto'
import type { Clock } from '../base/clock.ts'
import { STALE_MS } from '../base/cluster-settings.ts'
import { type Database, sqlState } from './database.ts'
import { requireKnownTables } from './migrations.ts'
import { CellLost, type CellStatus } from './cluster.ts'

const LOCK_NOT_AVAILABLE = '55P03'
const RETRY_MS = 100

const lockOf = (cell: string): string =>
  createHash('sha256').update(`agent-webui cell ${cell}`).digest().readBigInt64BE().toString()

const HOLDER = `
  select l.pid from pg_locks l
  where l.locktype = 'advisory' and l.granted and l.objsubid = 1
    and l.database = (select oid from pg_database where datname = current_database())
    and ((l.classid::bigint << 32) | l.objid::bigint) = $1::bigint`

/**
 * Ends the connection of an owner that hangs, and of a process that hung before it could become the owner: its machine may
 * have been paused or cut off while it waited. Both say something every few seconds, other processes that wait too.
 */
const replaceHung = (db: Database, cell: string): Promise<unknown> =>
  db.query(
    `select pg_terminate_backend(a.pid) from agent_webui.cell c, pg_stat_activity a
     where c.name = $2 and a.pid in (${HOLDER})
       and case when a.pid = c.pid then c.seen else a.state_change end
         < clock_timestamp() - $3 * interval '1 millisecond'`,
    [lockOf(cell), cell, STALE_MS],
  )

const tryLock = async (db: Database, cell: string): Promise<boolean> =>
  (await db.query('select pg_try_advisory_lock($1::bigint) as got', [lockOf(cell)]))[0]?.got ===
  true

/** Waits until the owner's connection ends. */
const waitForLock = async (
  db: Database,
  cell: string,
  { signal, onWait }: { signal?: AbortSignal | undefined; onWait?: (() => void) | undefined },
): Promise<void> => {
  if (await tryLock(db, cell)) return
  onWait?.()
  await db.query("set lock_timeout = '1s'")
  for (;;) {
    signal?.throwIfAborted()
    try {
      await db.query('select pg_advisory_lock($1::bigint)', [lockOf(cell)])
      return void (await db.query('set lock_timeout = 0'))
    } catch (error) {
      if (sqlState(error) !== LOCK_NOT_AVAILABLE) throw error
      await replaceHung(db, cell)
    }
  }
}

export type Claim = {
  epoch: number
  batch: number
  /** Of the cell: another one may get the same name later. */
  id: string
  /** Of this owner. */
  claim: string
  /** Of the owner before; 0 for none. */
  previousEpoch: number
}

/**
 * Becomes the owner. `check` throws when this process cannot read the cell: it must not take it from one that can.
 *
 * A free lock means that the owner's connection has ended. When the database itself was restarted since the owner's last
 * sign of life, the owner may be alive: it gets the time to come back. Not so where it was in this very directory.
 */
export const claim = async (
  db: Database,
  cell: string,
  options: {
    clock: Clock
    /** Of the state directory, whose instance lock this process has. */
    directory: string
    /** Of the last owner that was in this directory; 0 for none. */
    since: number
    check: (row: { keyCheck: Buffer | null; id: string }) => void
    keyCheck: () => Buffer
    signal?: AbortSignal | undefined
    onWait?: (() => void) | undefined
  },
): Promise<Claim> => {
  // A cell that was not made for anyone is that of the user of its name.
  await db.query(
    `with made as (insert into agent_webui.cell (name) values ($1) on conflict do nothing returning name)
     insert into agent_webui.member (cell, person) select name, lower(name) from made`,
    [cell],
  )
  for (;;) {
    await waitForLock(db, cell, options)
    // A newer program may have changed them while this one waited.
    await requireKnownTables(db)
    const [row = {}] = await db.query(
      `select id, epoch, key_check, not is_released and seen > clock_timestamp() - $2 * interval '1 millisecond'
         and pg_postmaster_start_time() > seen and directory is distinct from $3 as may_return
       from agent_webui.cell where name = $1`,
      [cell, STALE_MS, options.directory],
    )
    const keyCheck = row.key_check instanceof Buffer ? row.key_check : null
    options.check({ keyCheck, id: String(row.id) })
    if (row.may_return !== true) {
      const claim = randomUUID()
      // Above that of the last owner here too: a database that went back has given less.
      const [owned = {}] = await db.query(
        `with owned as (
           update agent_webui.cell set epoch = greatest(epoch, $4) + 1, address = null,
             pid = pg_backend_pid(), seen = clock_timestamp(), is_released = false, key_check = $2,
             directory = $3, token = null, started = null, asked = null, wake = null
           where name = $1 returning name, id, epoch, batch
         ), claimed as (
           insert into agent_webui.claim (cell, epoch, id) select name, epoch, $5 from owned
         ) select id, epoch, batch from owned`,
        [cell, keyCheck ?? options.keyCheck(), options.directory, options.since, claim],
      )
      return {
        epoch: Number(owned.epoch),
        batch: Number(owned.batch),
        id: String(owned.id),
        claim,
        previousEpoch: Number(row.epoch),
      }
    }
    options.onWait?.()
    await db.query('select pg_advisory_unlock($1::bigint)', [lockOf(cell)])
    await options.clock.delay(RETRY_MS, options.signal)
  }
}

/** The owner continues on another connection. Returns the number of its last write; throws `CellLost`. */
export const reclaim = async (
  db: Database,
  cell: string,
  { epoch, clock }: { epoch: number; clock: Clock },
): Promise<number> => {
  for (;;) {
    const hasLock = await tryLock(db, cell)
    const [row] = await db.query('select epoch, batch, pid from agent_webui.cell where name = $1', [
      cell,
    ])
    if (Number(row?.epoch) !== epoch) throw new CellLost('Another process owns the cell')
    if (hasLock) {
      await db.query(
        'update agent_webui.cell set pid = pg_backend_pid(), seen = clock_timestamp() where name = $1 and epoch = $2',
        [cell, epoch],
      )
      return Number(row?.batch)
    }
    // Our earlier connection, of which the database has not noticed the end.
    await db.query(`select pg_terminate_backend(l.pid) from (${HOLDER}) l where l.pid = $2`, [
      lockOf(cell),
      Number(row?.pid),
    ])
    await clock.delay(RETRY_MS)
  }
}

/** A sign of life while nothing is written yet. */
export const showAlive = (db: Database, cell: string, epoch: number): Promise<unknown> =>
  db.query('update agent_webui.cell set seen = clock_timestamp() where name = $1 and epoch = $2', [
    cell,
    epoch,
  ])

/** Whether the database knows this owner: one that went back may have forgotten it, or given its number to another. */
export const isKnownClaim = async (
  db: Database,
  cell: string,
  { epoch, claim }: { epoch: number; claim: string },
): Promise<boolean> => {
  const rows = await db.query(
    'select 1 from agent_webui.claim where cell = $1 and epoch = $2 and id = $3',
    [cell, epoch, claim],
  )
  return rows.length > 0
}

/**
 * The next owner may begin; a worker begins by itself `wakeInMs` from now, null for never. No time of this machine: with a clock that is
 * behind that of the database, the cell would start, find nothing due, end, and start again.
 */
export const giveUp = async (
  db: Database,
  cell: string,
  { epoch, wakeInMs }: { epoch: number; wakeInMs: number | null },
): Promise<void> => {
  await db.query(
    `update agent_webui.cell set is_released = true, address = null, pid = null, token = null, started = null,
       wake = clock_timestamp() + $3::double precision * interval '1 millisecond'
     where name = $1 and epoch = $2`,
    [cell, epoch, wakeInMs],
  )
}

/** Of files of the work that no machine but the one that deleted them had, such as temporary ones: without an end there would be more and more. */
export const dropTraces = (db: Database, cell: string): Promise<unknown> =>
  db.query(
    "delete from agent_webui.file where cell = $1 and is_gone and digest is null and path like 'work/%'",
    [cell],
  )

/** What others read of the owner: how a forwarder reaches it, null where it does not; files without a copy; for lists of several cells. */
export type ShownOwner = { address: string | null; leftOut: number; status: CellStatus | null }

export const showOwner = (
  db: Database,
  cell: string,
  { epoch, token, address, leftOut, status }: ShownOwner & { epoch: number; token: string | null },
): Promise<unknown> =>
  db.query(
    `update agent_webui.cell set address = $3, token = $4, left_out = $5,
       running = coalesce($6::integer, running), waiting = coalesce($7::integer, waiting),
       active = coalesce(to_timestamp($8::double precision / 1000), active)
     where name = $1 and epoch = $2`,
    [
      ...[cell, epoch, address, token, leftOut],
      ...[status?.running, status?.waiting, status?.activeAt].map(value => value ?? null),
    ],
  )
