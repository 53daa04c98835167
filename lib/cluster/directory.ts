/**
 * The database of a cluster as those see it that own no cell: who serves a cell, which cells workers run, and who may use them.
 * `agent-webui cells` changes it, and a forwarder asks it.
 */
import { STALE_MS } from '../base/cluster-settings.ts'
import { conflict, missing } from '../errors.ts'
import { type Database, Reader, type DatabaseRow } from './database.ts'
import { isMigrated, migrate } from './migrations.ts'
import { type AskResult, askFor, IS_STARTING, type Owner, ownerOf } from './placement.ts'
import type { CellStatus } from './cluster.ts'

export type CellEntry = {
  name: string
  /** Empty: its name is shown. */
  title: string
  isManaged: boolean
  labels: readonly string[]
  people: readonly string[]
  /** That runs it, or ran it last. */
  worker: string | null
  isAwake: boolean
  /** A worker has begun to start it. */
  isStarting: boolean
  /** When it starts by itself, in milliseconds since 1970. */
  wakeAt: number | null
}

export type WorkerEntry = {
  name: string
  address: string
  /** Cells that it runs at most, and now. */
  capacity: number
  used: number
  labels: readonly string[]
  isDraining: boolean
}

/** A cell that a process serves. */
export type ServedCell = {
  name: string
  /** Null: not one of workers. */
  worker: string | null
  epoch: number
  /** Since the database had the last write or sign of life of its owner, in milliseconds. */
  silentMs: number
  /** Files that the database has no copy of. */
  leftOut: number
}

export type OwnCell = Pick<CellEntry, 'name' | 'title' | 'isAwake'> & CellStatus

const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : [])
const timeOf = (value: unknown): number | null => (value instanceof Date ? value.getTime() : null)

/** How a list shows a cell. */
const namedOf = ({
  name,
  title,
  is_awake,
}: DatabaseRow): Pick<CellEntry, 'name' | 'title' | 'isAwake'> => ({
  name: String(name),
  title: String(title ?? ''),
  isAwake: is_awake === true,
})

const IS_AWAKE = `(not c.is_released and c.address is not null
  and c.seen > clock_timestamp() - interval '${STALE_MS} milliseconds') as is_awake`

/** People are compared in small letters, as the proxy may spell them in different ways. */
const plain = (people: readonly string[]): string[] => people.map(person => person.toLowerCase())

/** The tables may be older than this program, or newer: then the program knows enough of them. */
const prepare = async (db: Database): Promise<void> => {
  if (!(await isMigrated(db))) await migrate(db)
}

export class Directory {
  readonly #reader: Reader

  constructor(url: string) {
    this.#reader = new Reader(url, prepare)
  }

  close(): void {
    this.#reader.close()
  }

  /** The process that serves a cell; null when there is none. */
  ownerOf(cell: string): Promise<Owner | null> {
    return ownerOf(this.#reader, cell)
  }

  /** Asks the workers to start a cell that no process serves. */
  ask(cell: string): Promise<AskResult> {
    return askFor(this.#reader, cell)
  }

  /** That of the person's own name comes first. */
  async cellsOf(person: string): Promise<OwnCell[]> {
    const rows = await this.#reader.query(
      `select c.name, c.title, c.running, c.waiting, c.active, ${IS_AWAKE} from agent_webui.cell c
         join agent_webui.member m on m.cell = c.name
         where m.person = $1 order by c.name <> $1, coalesce(c.title, c.name), c.name`,
      [person.toLowerCase()],
    )
    return rows.map(row => ({
      ...namedOf(row),
      running: Number(row.running),
      waiting: Number(row.waiting),
      activeAt: timeOf(row.active),
    }))
  }

  async list(): Promise<CellEntry[]> {
    const rows = await this.#reader.query(
      `select c.name, c.title, c.is_managed, c.labels, c.worker, c.wake, ${IS_AWAKE}, ${IS_STARTING} as is_starting,
           array(select m.person from agent_webui.member m where m.cell = c.name order by 1) as people
         from agent_webui.cell c order by c.name`,
    )
    return rows.map(row => ({
      ...namedOf(row),
      isManaged: row.is_managed === true,
      labels: texts(row.labels),
      people: texts(row.people),
      worker: row.worker === null ? null : String(row.worker),
      isStarting: row.is_starting === true,
      wakeAt: timeOf(row.wake),
    }))
  }

  /** Those that have an owner, which may be silent. */
  async served(): Promise<ServedCell[]> {
    const rows = await this.#reader.query(
      `select name, worker, is_managed, epoch, left_out,
         extract(epoch from clock_timestamp() - seen) * 1000 as silent
       from agent_webui.cell where not is_released and seen is not null order by name`,
    )
    return rows.map(row => ({
      name: String(row.name),
      worker: row.is_managed === true && row.worker !== null ? String(row.worker) : null,
      epoch: Number(row.epoch),
      silentMs: Number(row.silent),
      leftOut: Number(row.left_out),
    }))
  }

  /**
   * Workers run it from now on. Without people it is that of the user of its name. A cell with files of before is refused, because
   * its new people would read them, unless `keepsFiles`.
   */
  async add(
    cell: string,
    input: {
      title: string
      labels: readonly string[]
      people: readonly string[]
      keepsFiles?: boolean
    },
  ): Promise<void> {
    const { title, labels, people, keepsFiles } = input
    const [before] = await this.#reader.query(
      'select is_managed, seen from agent_webui.cell where name = $1 and epoch > 0',
      [cell],
    )
    if (before && before.is_managed !== true && !keepsFiles)
      throw conflict(
        `The name "${cell}" has chats and files of before${before.seen instanceof Date ? `, last used ${before.seen.toISOString()}` : ''}. Add --keep to give them to the new cell, or delete them first: agent-webui cells remove ${cell} --purge`,
      )
    // In one statement: a cell that no one may use could not be added again.
    const [row] = await this.#reader.query(
      `with made as (
           insert into agent_webui.cell (name, title, labels, is_managed) values ($1, $2, $3, true)
           on conflict (name) do update set is_managed = true, labels = excluded.labels,
             title = coalesce(nullif(excluded.title, ''), cell.title)
           where not cell.is_managed
           returning name
         ), allowed as (
           insert into agent_webui.member (cell, person)
           select name, unnest(case
             when cardinality($4::text[]) > 0 or exists (select from agent_webui.member where cell = $1) then $4
             else array[$5] end)
           from made on conflict do nothing
         ) select name from made`,
      [cell, title, labels, plain(people), cell.toLowerCase()],
    )
    if (!row) throw conflict(`There is a cell "${cell}" already.`)
  }

  /** Throws where workers run the cell, or an owner wrote in it. */
  async requireNew(cell: string): Promise<void> {
    const [row] = await this.#reader.query(
      'select 1 from agent_webui.cell where name = $1 and (is_managed or epoch > 0)',
      [cell],
    )
    if (row)
      throw conflict(
        `There is a cell "${cell}" already. Take another name, or: agent-webui cells remove ${cell} --purge`,
      )
  }

  /** `undefined` stays as it is. New labels apply from the next start of the cell on. */
  async change(
    cell: string,
    { title, labels }: { title?: string | undefined; labels?: readonly string[] | undefined },
  ): Promise<void> {
    await this.#require(cell)
    await this.#reader.query(
      `update agent_webui.cell set title = coalesce($2, title), labels = coalesce($3, labels)
       where name = $1`,
      [cell, title ?? null, labels ?? null],
    )
  }

  /** The worker that runs it ends it in order, and the other one starts it. */
  async move(cell: string, worker: string): Promise<void> {
    await this.#require(cell)
    const [row] = await this.#reader.query(
      `with target as (
         select w.name, c.labels <@ (w.labels || w.name) as fits from agent_webui.worker w, agent_webui.cell c
         where w.name = $2 and c.name = $1
       ), moved as (
         update agent_webui.cell set worker = $2, asked = clock_timestamp()
         where name = $1 and is_managed and exists (select from target where fits)
       ) select fits from target`,
      [cell, worker],
    )
    if (!row) throw missing(`There is no worker "${worker}". agent-webui workers shows them.`)
    if (row.fits !== true)
      throw conflict(`The worker "${worker}" lacks a label that the cell "${cell}" needs.`)
  }

  async allow(cell: string, people: readonly string[]): Promise<void> {
    await this.#require(cell)
    await this.#reader.query(
      `insert into agent_webui.member (cell, person) select $1, unnest($2::text[])
         on conflict do nothing`,
      [cell, plain(people)],
    )
  }

  /** Their open pages end within seconds. */
  async revoke(cell: string, people: readonly string[]): Promise<void> {
    await this.#require(cell)
    const rows = await this.#reader.query(
      'delete from agent_webui.member where cell = $1 and person = any($2) returning person',
      [cell, plain(people)],
    )
    const names = rows.map(({ person }) => String(person))
    const unknown = plain(people).find(person => !names.includes(person))
    if (unknown !== undefined) throw missing(`"${unknown}" could not use the cell "${cell}".`)
  }

  /**
   * No worker runs it any more, and no one can use it. What it has written stays in the database and on its workers, unless
   * `purges`: then both delete it.
   */
  async remove(cell: string, purges = false): Promise<void> {
    await this.#require(cell)
    if (purges)
      await this.#reader.query(
        `with gone as (delete from agent_webui.cell where name = $1 returning id)
         insert into agent_webui.purged (id) select id from gone`,
        [cell],
      )
    else
      await this.#reader.query(
        `with gone as (delete from agent_webui.member where cell = $1)
           update agent_webui.cell set is_managed = false, wake = null, asked = null where name = $1`,
        [cell],
      )
  }

  /** Those that gave a sign of life lately. */
  async workers(): Promise<WorkerEntry[]> {
    const rows = await this.#reader.query(
      `select name, address, capacity, used, labels, is_draining from agent_webui.worker
       where seen > clock_timestamp() - interval '${STALE_MS} milliseconds' order by name`,
    )
    return rows.map(row => ({
      name: String(row.name),
      address: String(row.address),
      capacity: Number(row.capacity),
      used: Number(row.used),
      labels: texts(row.labels),
      isDraining: row.is_draining === true,
    }))
  }

  /** A worker that drains starts no cell, and ends those that it runs, which others start. */
  async drain(worker: string, isDraining: boolean): Promise<void> {
    const [row] = await this.#reader.query(
      'update agent_webui.worker set is_draining = $2 where name = $1 returning name',
      [worker, isDraining],
    )
    if (!row) throw missing(`There is no worker "${worker}". agent-webui workers shows them.`)
  }

  async #require(cell: string): Promise<void> {
    const [row] = await this.#reader.query('select 1 from agent_webui.cell where name = $1', [cell])
    if (!row) throw missing(`There is no cell "${cell}". agent-webui cells list shows them.`)
  }
}
