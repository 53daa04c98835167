/** The SQL statements of the session catalog, prepared once per opened file. */
import type { TurnUsage } from '../schema/usage.ts'
import type { Database } from '../store/sqlite.ts'
import { ENDED_IN_TROUBLE, NOT_ONLY_SCHEDULED } from './catalog-schema.ts'
import type { Mark } from './files.ts'
import type { UsageRow } from './usage.ts'

type LiveColumns = {
  active_stream_id: string | null
  waiting: number | null
  epoch: number
  updated_ms: number
}
type Id = { id: string }
/** Usage within a quarter of an hour, per model, provider, profile and source. */
/** `at`: milliseconds since 1970. */
export type UsageBucket = Omit<UsageRow, 'n'> & { profile: string; source: string; turns: number }
/** `ms`: time of the last message. */
export type SessionName = { id: string; ms: number; title: string }
export type PageRow = { row: string; ms: number; id: string }

const PAGE = (where: string) => `
  select row, updated_ms as ms, id from session
  where listed = 1 ${where} and updated_ms <= ? and (updated_ms < ? or id > ?)
  order by updated_ms desc, id limit ?`

/** Pinned rows after a cursor. Parameters: profile twice (null: all), time twice, id, limit. */
const PINNED = `
  select row, updated_ms as ms, id from session
  where listed = 1 and json_extract(row, '$.pinned') = 1 and (? is null or profile = ?)
  and updated_ms <= ? and (updated_ms < ? or id > ?)
  order by updated_ms desc, id limit ?`

/** Rows of a time, joined by SQLite: one blob, without one JavaScript string per row. Parameters: after, up to. */
const SPAN = (where: string) => `
  select cast(coalesce(group_concat(row, ','), '') as blob) as body from (
    select row from session where listed = 1 and updated_ms > ? and updated_ms <= ? ${where}
    order by updated_ms desc, id)`

/** The time of each row whose number, newest first, is a multiple of the parameter. */
const TIMES = (where: string) => `
  select updated_ms as ms from (
    select updated_ms, row_number() over (order by updated_ms desc) as number
    from session where listed = 1 ${where})
  where number % ? = 0 order by ms desc`

export const prepareStatements = (db: Database) => ({
  get: db.prepare<[string], LiveColumns & { summary: string; stamp: string; seq: number }>(
    'select summary, stamp, seq, epoch, updated_ms, active_stream_id, waiting from session join fold using (id) where id = ?',
  ),
  row: db.prepare<[string], { row: string }>('select row from session where id = ?'),
  profileOf: db.prepare<[string], { profile: string }>('select profile from session where id = ?'),
  stamp: db.prepare<[string], { stamp: string }>('select stamp from session where id = ?'),
  stamps: db.prepare<[], { id: string; stamp: string }>('select id, stamp from session'),
  liveOf: db.prepare<[string], LiveColumns>(
    'select active_stream_id, waiting, epoch, updated_ms from session where id = ?',
  ),
  put: db.prepare<[Record<string, string | number>]>(`
    insert into session (id, updated_ms, listed, profile, count, untitled, draft, open_turn, title, stamp, seq, epoch, row)
    values (@id, @updated_ms, @listed, @profile, @count, @untitled, @draft, @open_turn, @title, @stamp, @seq, @epoch, @row)
    on conflict (id) do update set updated_ms = @updated_ms, listed = @listed, profile = @profile, count = @count,
      untitled = @untitled, draft = @draft, open_turn = @open_turn, title = @title, stamp = @stamp, seq = @seq,
      epoch = @epoch, row = @row`),
  putFold: db.prepare<[string, string]>('insert or replace into fold values (?, ?)'),
  setLive: db.prepare<[string | null, number | null, string, string]>(
    'update session set active_stream_id = ?, waiting = ?, row = ? where id = ?',
  ),
  remove: db.prepare<[string]>('delete from session where id = ?'),
  removeFold: db.prepare<[string]>('delete from fold where id = ?'),
  live: db.prepare<[], Id>(
    'select id from session where active_stream_id is not null or waiting is not null',
  ),
  lastSeq: db.prepare<[], { seq: number }>('select seq from session order by seq desc limit 1'),
  openTurns: db.prepare<[], { summary: string }>(
    'select summary from session join fold using (id) where open_turn = 1',
  ),
  /** Parameters: not older than this, limit. */
  troubled: db.prepare<[number, number], { row: string }>(`
    select row from session where listed = 1 and ${ENDED_IN_TROUBLE} and updated_ms >= ?
    order by updated_ms desc, id limit ?`),
  empties: db.prepare<[number], Id>(
    'select id from session where count = 0 and draft = 0 and open_turn = 0 and active_stream_id is null and untitled >= ?',
  ),
  /** Without an index: it runs only when a project is deleted. */
  ofProject: db.prepare<[string], Id>(
    "select id from session where json_extract(row, '$.project_id') = ? order by id",
  ),
  /** Parameter: profiles as JSON. */
  projectsOf: db.prepare<[string], Id>(`
    select distinct json_extract(row, '$.project_id') as id from session
    where profile in (select value from json_each(?)) and json_extract(row, '$.project_id') is not null`),
  /** Parameters: words as JSON, profile twice (null: all), limit. */
  titles: db.prepare<[string, string | null, string | null, number], { row: string }>(`
    select row from session where key in (
      select key from session
      where not exists (select 1 from json_each(?) as word where instr(session.title, word.value) = 0)
      and (? is null or profile = ?)
      order by updated_ms desc, id limit ?)
    and listed = 1 order by updated_ms desc, id`),
  /** Titled sessions of a profile, newest first. */
  names: db.prepare<[string, number], SessionName>(`
    select id, updated_ms as ms, json_extract(row, '$.title') as title from session
    where listed = 1 and profile = ? and untitled = 0 order by updated_ms desc, id limit ?`),
  page: db.prepare<[number, number, string, number], PageRow>(PAGE('')),
  profilePage: db.prepare<[string, number, number, string, number], PageRow>(
    PAGE('and profile = ?'),
  ),
  personPage: db.prepare<[number, number, string, number], PageRow>(
    PAGE(`and ${NOT_ONLY_SCHEDULED}`),
  ),
  profilePersonPage: db.prepare<[string, number, number, string, number], PageRow>(
    PAGE(`and profile = ? and ${NOT_ONLY_SCHEDULED}`),
  ),
  pinned: db.prepare<[string | null, string | null, number, number, string, number], PageRow>(
    PINNED,
  ),
  span: db.prepare<[number, number], { body: Buffer }>(SPAN('')),
  profileSpan: db.prepare<[number, number, string], { body: Buffer }>(SPAN('and profile = ?')),
  times: db.prepare<[number], { ms: number }>(TIMES('')),
  profileTimes: db.prepare<[string, number], { ms: number }>(TIMES('and profile = ?')),
  alias: db.prepare<[string], Id>('select id from alias where old = ?'),
  putAlias: db.prepare<[string, string]>('insert or replace into alias values (?, ?)'),
  dropAliases: db.prepare<[string]>('delete from alias where id = ?'),
  lastMark: db.prepare<[string], Mark>(
    'select n, offset, seen from mark where id = ? order by n desc limit 1',
  ),
  markBefore: db.prepare<[string, number], Mark>(
    'select n, offset, seen from mark where id = ? and n <= ? order by n desc limit 1',
  ),
  putMark: db.prepare<[string, number, number, number]>(
    'insert or replace into mark values (?, ?, ?, ?)',
  ),
  dropMarks: db.prepare<[string]>('delete from mark where id = ?'),
  putUsage: db.prepare<[UsageRow & { id: string; profile: string; source: string }]>(`
    insert or replace into usage (id, n, at, model, provider, profile, source, input_tokens, output_tokens, cost,
      cache_read_tokens, cache_write_tokens)
    values (@id, @n, @at, @model, @provider, @profile, @source, @input_tokens, @output_tokens, @cost,
      @cache_read_tokens, @cache_write_tokens)`),
  dropUsage: db.prepare<[string]>('delete from usage where id = ?'),
  /** By quarter of an hour: the days of every time zone start on one. */
  usage: db.prepare<[number], UsageBucket>(`
    select cast(at / 900 as integer) * 900000 as at, model, provider, profile, source, sum(n > 0) as turns,
      sum(input_tokens) as input_tokens, sum(output_tokens) as output_tokens, sum(cost) as cost,
      sum(cache_read_tokens) as cache_read_tokens, sum(cache_write_tokens) as cache_write_tokens
    from usage where at >= ? group by 1, 2, 3, 4, 5 order by 1`),
  /** Parameters: session, and line numbers below and above. Side questions have no model and are no turns of the session. */
  turnUsage: db.prepare<[string, number, number], TurnUsage>(`
    select n, input_tokens, output_tokens, cost as estimated_cost, cache_read_tokens, cache_write_tokens
    from usage where id = ? and n > ? and n < ? and model <> '' order by n`),
  /** Parameters: not older than this, profiles as JSON twice (null: all). */
  usageSessions: db.prepare<[number, string | null, string | null], { count: number }>(`
    select count(distinct id) as count from usage where at >= ?
    and (? is null or profile in (select value from json_each(?)))`),
  about: db.prepare<[string], { value: string }>('select value from about where key = ?'),
  setAbout: db.prepare<[string, string]>('insert or replace into about values (?, ?)'),
  tombstones: db.prepare<[], Id>('select id from dead'),
  addTombstone: db.prepare<[string]>('insert or ignore into dead values (?)'),
  removeTombstone: db.prepare<[string]>('delete from dead where id = ?'),
})
