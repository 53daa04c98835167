/** The host agent's state.db as its command line writes it: schema 6, schema 11 (the first with content lists), and the current 30. */
import { join } from 'node:path'
import { type Database, openDatabase } from '../lib/store/sqlite.ts'

export type Schema = 6 | 11 | 30
/** The first and the current schema; with PROOF=full also 11. */
export const SCHEMAS: readonly Schema[] = process.env.PROOF === 'full' ? [6, 11, 30] : [6, 30]

const TABLES = `
  create table schema_version (version integer not null);
  create table sessions (
    id text primary key, source text not null, user_id text, model text, model_config text, system_prompt text,
    parent_session_id text, started_at real not null, ended_at real, end_reason text,
    message_count integer default 0, tool_call_count integer default 0,
    input_tokens integer default 0, output_tokens integer default 0, cache_read_tokens integer default 0,
    cache_write_tokens integer default 0, reasoning_tokens integer default 0,
    billing_provider text, billing_base_url text, billing_mode text, estimated_cost_usd real, actual_cost_usd real,
    cost_status text, cost_source text, pricing_version text, title text,
    foreign key (parent_session_id) references sessions(id));
  create table messages (
    id integer primary key autoincrement, session_id text not null references sessions(id), role text not null,
    content text, tool_call_id text, tool_calls text, tool_name text, timestamp real not null, token_count integer,
    finish_reason text, reasoning text, reasoning_details text, codex_reasoning_items text);
  create index idx_sessions_source on sessions(source);
  create index idx_messages_session on messages(session_id, timestamp);
  create unique index idx_sessions_title_unique on sessions(title) where title is not null;
  create virtual table messages_fts using fts5(content, content=messages, content_rowid=id);
  create trigger messages_fts_insert after insert on messages begin
    insert into messages_fts(rowid, content) values (new.id, new.content); end;
  create trigger messages_fts_delete after delete on messages begin
    insert into messages_fts(messages_fts, rowid, content) values ('delete', old.id, old.content); end;`

/** Additions of the current schema that matter to a second writer. */
const CURRENT = `
  alter table sessions add column cwd text;
  alter table sessions add column title_source text;
  alter table sessions add column archived integer default 0;
  alter table sessions add column hidden integer default 0;
  alter table sessions add column pinned integer default 0;
  alter table messages add column active integer not null default 1;
  alter table messages add column compacted integer not null default 0;
  create table session_model_usage (
    session_id text not null references sessions(id), model text not null, input_tokens integer, extra blob,
    primary key (session_id, model));
  pragma user_version = 30;`

export type StateDb = Database & { schema: Schema }

/** The connection stays open, as in a running agent. */
export const createStateDb = (home: string, schema: Schema): StateDb => {
  const db = openDatabase(join(home, 'state.db'), {
    pragmas: ['journal_mode = WAL', 'foreign_keys = ON'],
  })
  db.exec(TABLES)
  if (schema === 30) db.exec(CURRENT)
  db.prepare('insert into schema_version values (?)').run(schema)
  return Object.assign(db, { schema })
}

export const addSession = (
  db: Database,
  id: string,
  values: Record<string, unknown> = {},
): void => {
  const row: Record<string, unknown> = { id, source: 'cli', started_at: 1_000, ...values }
  const names = Object.keys(row)
  db.prepare(
    `insert into sessions (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`,
  ).run(...Object.values(row))
}

export const addMessage = (
  db: Database,
  session: string,
  role: string,
  content: string | null,
  values: Record<string, unknown> = {},
): void => {
  const row: Record<string, unknown> = {
    session_id: session,
    role,
    content,
    timestamp: 1_001,
    ...values,
  }
  const names = Object.keys(row)
  db.prepare(
    `insert into messages (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`,
  ).run(...Object.values(row))
  db.prepare('update sessions set message_count = message_count + 1 where id = ?').run(session)
}

/** Content with several parts, as stored since schema 11. */
export const listContent = (parts: unknown[]): string => `\0json:${JSON.stringify(parts)}`

/** A session with one question and its answer. */
export const addConversation = (
  db: Database,
  id: string,
  values: Record<string, unknown> = {},
): void => {
  addSession(db, id, values)
  const at = Number(values.started_at ?? 1_000)
  addMessage(db, id, 'user', `question of ${id}`, { timestamp: at + 1 })
  addMessage(db, id, 'assistant', `answer of ${id}`, { timestamp: at + 2 })
}
