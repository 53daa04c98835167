/** Schema of `catalog.db`. Everything in it is derived from the session files and may be deleted at any time. */
import { SMALL_CACHE } from '../store/sqlite.ts'

/** Of `SCHEMA`: a file with another number is made again. */
export const SCHEMA_VERSION = 11

/** Excludes runs of scheduled tasks, except those that are pinned or wait for the user. */
export const NOT_ONLY_SCHEDULED = `(json_extract(row, '$.source_tag') is not 'cron' or json_extract(row, '$.pinned') = 1 or json_extract(row, '$.waiting') > 0)`

/** The last turn failed, was interrupted, or reached a limit. */
export const ENDED_IN_TROUBLE = `(json_extract(row, '$.last_turn') in ('failed', 'interrupted') or json_extract(row, '$.last_turn_limit') is not null) and json_extract(row, '$.archived') = 0`

/** Partial indexes are used by queries that have their condition in the same words. */
export const SCHEMA = `
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
    live integer not null,          -- the row says that a turn runs or that something waits, which ends with the process
    title text not null,            -- folded for searching
    stamp text not null,            -- state of the file this row was made from
    seq integer not null,           -- rises with every change of the content
    epoch integer not null,         -- rises when the file changed otherwise than by our appending
    row text not null               -- the compact record, redacted, ready to be sent
  );
  create index by_time on session (updated_ms desc, id) where listed = 1;
  create index by_profile on session (profile, updated_ms desc, id) where listed = 1;
  create index by_title on session (updated_ms desc, id, title);
  create index by_seq on session (seq);
  create index by_turn on session (id) where open_turn = 1;
  create index by_live on session (id) where live = 1;
  -- Few: they stand at the top of every list, however old they are.
  create index by_pin on session (updated_ms desc, id)
    where listed = 1 and json_extract(row, '$.pinned') = 1;
  -- Without what scheduled tasks did by themselves, which may be most of the list.
  create index by_person on session (updated_ms desc, id) where listed = 1 and ${NOT_ONLY_SCHEDULED};
  create index by_trouble on session (updated_ms desc, id) where listed = 1 and ${ENDED_IN_TROUBLE};

  -- Apart from the rows, or the whole list would read twice the pages.
  create table fold (id text primary key, summary text not null) without rowid;
  create table alias (old text primary key, id text not null) without rowid;
  create index alias_of on alias (id);
  -- Sessions whose words the search index must forget.
  create table dead (id text primary key) without rowid;
  -- One row for each turn that ended, fed with the row of its session.
  create table usage (id text not null, n integer not null, at real not null, model text not null,
    provider text not null, profile text not null, source text not null,
    input_tokens integer not null, output_tokens integer not null, cost real not null,
    cache_read_tokens integer not null, cache_write_tokens integer not null,
    primary key (id, n)) without rowid;
  create index usage_at on usage (at);
`

/** `secure_delete`: the content of a deleted session must not stay in free pages. */
export const PRAGMAS = [
  'journal_mode = WAL',
  'synchronous = OFF',
  'secure_delete = ON',
  SMALL_CACHE,
  'journal_size_limit = 4194304',
] as const

/** Lower case without accents: the form in which titles are compared. */
export const foldText = (text: string): string =>
  text.normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
