/** Maps sessions of the host agent's database to rows of the session list: newest activity first, one row per lineage. */
import { redact } from '../../base/redact/redact.ts'
import type { SessionRow } from '../../schema/session.ts'
import { cacheTokens } from '../../schema/usage.ts'
import { columnsOf, type Database } from './state-db.ts'

/** Of one source: what machines make (tasks, webhooks) must not push out what people wrote. */
const MAX_ROWS = 200
/** What a list needs beyond the id; an older or foreign file may lack some. */
const EXPECTED = ['source', 'started_at'] as const
/** Of sessions whose file does not say where they come from. */
const NO_SOURCE = 'cli'

/** The columns a list row needs, for every version of the schema. */
type SessionColumns = {
  id: string
  source: string
  title: string | null
  model: string | null
  started_at: number
  last_at: number
  messages: number
  archived: unknown
  pinned: unknown
  input_tokens: number | null
  output_tokens: number | null
  cost: number | null
  cache_read: number | null
  cache_write: number | null
}

/** The column when the table has it, else the SQL expression `otherwise`. */
const columnOr = (columns: ReadonlySet<string>, column: string, otherwise: string): string =>
  columns.has(column) ? `s.${column}` : otherwise

/** SQL condition: `child` continues `parent` after compaction. A subagent's session has the same parent, but started before the parent ended. */
export const continues = (parent: string, child: string): string =>
  `coalesce(${parent}.end_reason, '') = 'compression'
   and (${parent}.ended_at is null or ${child}.started_at >= ${parent}.ended_at - 1)`

export const hasLineage = (columns: ReadonlySet<string>): boolean =>
  ['parent_session_id', 'end_reason', 'ended_at'].every(column => columns.has(column))

/** Lists only the newest session of a lineage, and no sessions of subagents. */
const LINEAGE = `
  and not exists (select 1 from sessions c where c.parent_session_id = s.id and ${continues('s', 'c')})
  and not exists (
    select 1 from sessions p where p.id = s.parent_session_id and coalesce(p.end_reason, '') <> 'branched'
    and not (${continues('p', 's')}))`

/** SQL of where a session comes from. */
const sourceOf = (columns: ReadonlySet<string>): string =>
  columnOr(columns, 'source', `'${NO_SOURCE}'`)

/** SQL expressions about the messages of `s`; without the table, a session has none. */
const messageFacts = (messages: ReadonlySet<string>, startedAt: string) => {
  if (!messages.has('session_id')) return { lastAt: startedAt, count: '0', exists: '0' }
  const own = `from messages m where m.session_id = s.id ${messages.has('active') ? 'and m.active = 1' : ''}`
  return {
    lastAt: messages.has('timestamp')
      ? `coalesce((select max(m.timestamp) ${own}), ${startedAt})`
      : startedAt,
    count: `(select count(*) ${own})`,
    exists: 'exists (select 1 from messages m where m.session_id = s.id)',
  }
}

const select = (db: Database, where: string, limit: number): string => {
  const sessions = columnsOf(db, 'sessions')
  const startedAt = columnOr(sessions, 'started_at', '0')
  const { lastAt, count } = messageFacts(columnsOf(db, 'messages'), startedAt)
  return `
    select * from (select *, row_number() over (partition by source order by last_at desc, id) as place from (
    select s.id, ${sourceOf(sessions)} as source, ${columnOr(sessions, 'title', 'null')} as title,
      ${columnOr(sessions, 'model', 'null')} as model, ${startedAt} as started_at,
      ${columnOr(sessions, 'archived', '0')} as archived, ${columnOr(sessions, 'pinned', '0')} as pinned,
      ${lastAt} as last_at, ${count} as messages,
      ${columnOr(sessions, 'input_tokens', '0')} as input_tokens,
      ${columnOr(sessions, 'output_tokens', '0')} as output_tokens,
      ${columnOr(sessions, 'estimated_cost_usd', '0')} as cost,
      ${columnOr(sessions, 'cache_read_tokens', '0')} as cache_read,
      ${columnOr(sessions, 'cache_write_tokens', '0')} as cache_write
    from sessions s where ${where})) where place <= ${limit} order by last_at desc, id`
}

/** Excludes rows that `mirrorUsage` wrote for our own sessions. */
const listed = (db: Database): string => {
  const sessions = columnsOf(db, 'sessions')
  const hidden = sessions.has('hidden') ? 'and coalesce(s.hidden, 0) = 0' : ''
  const hasTitle = sessions.has('title') ? "or coalesce(s.title, '') <> ''" : ''
  const source = sourceOf(sessions)
  const { exists } = messageFacts(columnsOf(db, 'messages'), '0')
  return `${source} is not null and ${source} <> 'webui' ${hidden}
    and (${exists} ${hasTitle})
    ${hasLineage(sessions) ? LINEAGE : ''}`
}

const number = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) ? value : 0

/** `telegram` → `Telegram Session`. */
const sessionTitle = ({ title, source }: SessionColumns): string =>
  title?.trim() ||
  `${source.replace(/(?:^|[_\s-])\p{L}/gu, first => first.toUpperCase()).replaceAll('_', ' ')} Session`

export type RowOptions = { workspace: string; profile: string }

const toRow = (row: SessionColumns, { workspace, profile }: RowOptions): SessionRow => ({
  session_id: row.id,
  title: redact(sessionTitle(row)),
  workspace,
  model: row.model,
  message_count: row.messages,
  created_at: number(row.started_at),
  updated_at: number(row.last_at),
  pinned: Boolean(row.pinned),
  archived: Boolean(row.archived),
  project_id: null,
  profile,
  // The host agent counts cached tokens apart from the input.
  input_tokens: number(row.input_tokens) + number(row.cache_read) + number(row.cache_write),
  output_tokens: number(row.output_tokens),
  estimated_cost: number(row.cost),
  ...cacheTokens(number(row.cache_read), number(row.cache_write)),
  personality: null,
  compression_anchor_visible_idx: null,
  compression_anchor_message_key: null,
  active_stream_id: null,
  is_streaming: false,
  waiting: 0,
  last_turn: null,
  preview: '',
  source_tag: row.source,
  is_cli_session: true,
})

/** False for ids that our API would reject. */
const hasValidId = ({ id, source }: SessionColumns): boolean =>
  typeof id === 'string' && typeof source === 'string' && /^[0-9A-Za-z][\w-]{0,127}$/.test(id)

/** `table.column` of what a list would need and this file does not have. */
export const missingColumns = (db: Database): string[] => {
  const sessions = columnsOf(db, 'sessions')
  const messages = columnsOf(db, 'messages')
  return [
    ...EXPECTED.filter(column => !sessions.has(column)).map(column => `sessions.${column}`),
    ...['session_id', 'timestamp']
      .filter(column => !messages.has(column))
      .map(column => `messages.${column}`),
  ]
}

export const readRows = (db: Database, options: RowOptions): SessionRow[] =>
  db
    .prepare<[], SessionColumns>(select(db, listed(db), MAX_ROWS))
    .all()
    .filter(hasValidId)
    .map(row => toRow(row, options))

/** One session by id, listed or not. `hasTitle`: the title is stored, not derived from the source. */
export const readRow = (
  db: Database,
  id: string,
  options: RowOptions,
): { row: SessionRow; hasTitle: boolean } | undefined => {
  const row = db.prepare<[string], SessionColumns>(select(db, 's.id = ?', 1)).get(id)
  if (!row || !hasValidId(row)) return undefined
  return { row: toRow(row, options), hasTitle: Boolean(row.title?.trim()) }
}
