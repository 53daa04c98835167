/** Schema of `catalog.db`. Everything in it is derived from the session files and may be deleted at any time. */

/**
 * Excludes runs of scheduled tasks, except those that are pinned or wait for the user. The partial index of a migration
 * uses this text: a change needs a new index, or pages are read without one.
 */
export const NOT_ONLY_SCHEDULED = `(json_extract(row, '$.source_tag') is not 'cron' or json_extract(row, '$.pinned') = 1 or waiting > 0)`

/** The last turn failed, was interrupted, or reached a limit. The partial index of a migration uses this text. */
export const ENDED_IN_TROUBLE = `(json_extract(row, '$.last_turn') in ('failed', 'interrupted') or json_extract(row, '$.last_turn_limit') is not null) and json_extract(row, '$.archived') = 0`

export const MIGRATIONS = [
  `
  create table about (key text primary key, value text not null) without rowid;

  create table session (
    key integer primary key,
    id text not null unique,
    updated_ms integer not null,
    listed integer not null,        -- 0: untitled and without messages
    profile text not null,
    count integer not null,
    untitled integer not null,
    draft integer not null,
    open_turn integer not null,     -- a turn began and did not end, or a question is open
    title text not null,            -- folded for searching
    stamp text not null,            -- state of the file this row was made from
    seq integer not null,           -- rises with every change of the content
    epoch integer not null,         -- rises when the file changed otherwise than by our appending
    active_stream_id text,
    waiting integer,
    row text not null               -- the compact record, redacted, ready to be sent
  );
  create index by_time on session (updated_ms desc, id) where listed = 1;
  create index by_profile on session (profile, updated_ms desc, id) where listed = 1;
  create index by_title on session (updated_ms desc, id, title);
  create index by_seq on session (seq);
  create index by_turn on session (id) where open_turn = 1;
  create index by_live on session (id) where active_stream_id is not null or waiting is not null;

  -- Apart from the rows, or the whole list would read twice the pages.
  create table fold (id text primary key, summary text not null) without rowid;
  create table alias (old text primary key, id text not null) without rowid;
  create index alias_of on alias (id);
  create table mark (id text not null, n integer not null, offset integer not null,
    seen integer not null, primary key (id, n)) without rowid;
  -- Sessions whose words the search index must forget.
  create table dead (id text primary key) without rowid;
  `,
  `
  -- One row for each turn that ended, fed with the row of its session.
  create table usage (id text not null, n integer not null, at real not null, model text not null,
    provider text not null, profile text not null, source text not null,
    input_tokens integer not null, output_tokens integer not null, cost real not null,
    primary key (id, n)) without rowid;
  create index usage_at on usage (at);
  -- Every session is read once more, so that its turns get their rows.
  update session set stamp = '';
  `,
  `
  -- And once more: what is kept of a session tells of its summaries.
  update session set stamp = '';
  `,
  `
  -- Few: they stand at the top of every list, however old they are.
  create index by_pin on session (updated_ms desc, id)
    where listed = 1 and json_extract(row, '$.pinned') = 1;
  `,
  `
  -- Without what scheduled tasks did by themselves, which may be most of the list. Pages give the same words as condition.
  create index by_person on session (updated_ms desc, id) where listed = 1 and ${NOT_ONLY_SCHEDULED};
  `,
  `
  -- Turns before this migration reported no cached tokens.
  alter table usage add column cache_read_tokens integer not null default 0;
  alter table usage add column cache_write_tokens integer not null default 0;
  `,
  `
  -- For the inbox: few of all sessions. The query gives the same words as condition.
  create index by_trouble on session (updated_ms desc, id) where listed = 1 and json_extract(row, '$.last_turn') in ('failed', 'interrupted') and json_extract(row, '$.archived') = 0;
  `,
  `
  -- Also turns that reached a limit.
  drop index by_trouble;
  create index by_trouble on session (updated_ms desc, id) where listed = 1 and ${ENDED_IN_TROUBLE};
  `,
  `
  -- A draft may be only a file: which sessions have a draft is read again.
  -- And what is kept of a session names the versions of its messages.
  update session set stamp = '';
  `,
] as const

/** `secure_delete`: the content of a deleted session must not stay in free pages. */
export const PRAGMAS = [
  'journal_mode = WAL',
  'synchronous = OFF',
  'secure_delete = ON',
  'cache_size = -2000',
  'journal_size_limit = 4194304',
] as const

/** Lower case without accents: the form in which titles are compared. */
export const foldText = (text: string): string =>
  text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
