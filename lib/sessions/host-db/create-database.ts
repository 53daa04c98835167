/**
 * Creates an empty state.db when our CLI runs before the host agent. Schema version 6 is the oldest one that every
 * version of the agent reads and migrates. An existing file is never changed.
 */
import { chmodSync, existsSync } from 'node:fs'
import { openDatabase } from '../../store/sqlite.ts'

const SCHEMA_VERSION = 6

/** `if not exists`, because two programs may create the file at the same moment. */
const TABLES = `
  create table if not exists schema_version (version INTEGER NOT NULL);
  create table if not exists sessions (
    id TEXT PRIMARY KEY,
    source TEXT NOT NULL,
    user_id TEXT,
    model TEXT,
    model_config TEXT,
    system_prompt TEXT,
    parent_session_id TEXT,
    started_at REAL NOT NULL,
    ended_at REAL,
    end_reason TEXT,
    message_count INTEGER DEFAULT 0,
    tool_call_count INTEGER DEFAULT 0,
    input_tokens INTEGER DEFAULT 0,
    output_tokens INTEGER DEFAULT 0,
    cache_read_tokens INTEGER DEFAULT 0,
    cache_write_tokens INTEGER DEFAULT 0,
    reasoning_tokens INTEGER DEFAULT 0,
    billing_provider TEXT,
    billing_base_url TEXT,
    billing_mode TEXT,
    estimated_cost_usd REAL,
    actual_cost_usd REAL,
    cost_status TEXT,
    cost_source TEXT,
    pricing_version TEXT,
    title TEXT,
    FOREIGN KEY (parent_session_id) REFERENCES sessions(id)
  );
  create table if not exists messages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session_id TEXT NOT NULL REFERENCES sessions(id),
    role TEXT NOT NULL,
    content TEXT,
    tool_call_id TEXT,
    tool_calls TEXT,
    tool_name TEXT,
    timestamp REAL NOT NULL,
    token_count INTEGER,
    finish_reason TEXT,
    reasoning TEXT,
    reasoning_details TEXT,
    codex_reasoning_items TEXT
  );
  create index if not exists idx_sessions_source on sessions(source);
  create index if not exists idx_sessions_parent on sessions(parent_session_id);
  create index if not exists idx_sessions_started on sessions(started_at DESC);
  create index if not exists idx_messages_session on messages(session_id, timestamp);
  create unique index if not exists idx_sessions_title_unique on sessions(title) where title is not null;
  create virtual table if not exists messages_fts using fts5(content, content=messages, content_rowid=id);
  create trigger if not exists messages_fts_insert after insert on messages begin
    insert into messages_fts(rowid, content) values (new.id, new.content);
  end;
  create trigger if not exists messages_fts_delete after delete on messages begin
    insert into messages_fts(messages_fts, rowid, content) values ('delete', old.id, old.content);
  end;
  create trigger if not exists messages_fts_update after update on messages begin
    insert into messages_fts(messages_fts, rowid, content) values ('delete', old.id, old.content);
    insert into messages_fts(rowid, content) values (new.id, new.content);
  end;
`

export const ensureStateDb = (file: string, addon: string | undefined): void => {
  if (existsSync(file)) return
  const db = openDatabase(file, { addon, pragmas: ['journal_mode = WAL'] })
  try {
    chmodSync(file, 0o600)
    db.transaction(() => {
      db.exec(TABLES)
      const row = db.prepare('select 1 from schema_version').get()
      if (!row) db.prepare('insert into schema_version (version) values (?)').run(SCHEMA_VERSION)
    }).immediate()
  } finally {
    db.close()
  }
}
