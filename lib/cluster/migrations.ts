/** The tables of the cluster, as numbered steps. A step that was released is never changed; a new one follows it. */
import { createHash } from 'node:crypto'
import type { Database } from './database.ts'
import { ClusterError } from './cluster.ts'

const CELLS = `
create table agent_webui.cell (
  name text primary key,
  -- Rises with every owner. Writes of an earlier owner are rejected.
  epoch bigint not null default 0,
  address text,
  -- State directory of the owner: its instance lock proves that an earlier process there has ended.
  directory text,
  -- Backend of the owner's connection, which holds the advisory lock.
  pid integer,
  -- Last sign of life of the owner.
  seen timestamptz,
  is_released boolean not null default true,
  -- Number of the owner's last write, so that one that was committed is not repeated.
  batch bigint not null default 0,
  key_check bytea
);

create table agent_webui.file (
  cell text not null references agent_webui.cell on delete cascade,
  path text not null,
  size bigint not null,
  mode integer not null,
  digest bytea,
  -- Of the last change, and of the last change that was not an append.
  epoch bigint not null,
  base_epoch bigint not null,
  is_gone boolean not null,
  primary key (cell, path)
);

-- A file is its chunks in order. No byte of a file is ever written twice.
create table agent_webui.chunk (
  cell text not null,
  path text not null,
  at bigint not null,
  epoch bigint not null,
  bytes bytea not null,
  primary key (cell, path, at),
  foreign key (cell, path) references agent_webui.file on delete cascade
);
`

/**
 * The row of the cell is locked for the whole transaction: a takeover waits for a write that has begun, and every write
 * after it finds another epoch.
 */
const PUSH = `
create function agent_webui.push(
  p_cell text, p_epoch bigint, p_batch bigint, p_kinds text[], p_paths text[], p_ats bigint[],
  p_sizes bigint[], p_modes integer[], p_digests bytea[], p_bytes bytea[]
) returns text language plpgsql as $$
declare
  v_epoch bigint;
  v_batch bigint;
begin
  select epoch, batch into v_epoch, v_batch from agent_webui.cell where name = p_cell for update;
  if v_epoch is distinct from p_epoch then return 'lost'; end if;
  update agent_webui.cell set seen = clock_timestamp(), batch = greatest(batch, p_batch)
    where name = p_cell;
  if v_batch >= p_batch then return 'known'; end if;
  for i in 1 .. coalesce(array_length(p_paths, 1), 0) loop
    if p_kinds[i] = 'append' then
      update agent_webui.file set size = size + p_sizes[i], epoch = p_epoch
        where cell = p_cell and path = p_paths[i] and not is_gone and size = p_ats[i];
      if not found then raise exception 'agent-webui: % does not end at %', p_paths[i], p_ats[i]; end if;
      insert into agent_webui.chunk (cell, path, at, epoch, bytes)
        values (p_cell, p_paths[i], p_ats[i], p_epoch, p_bytes[i]);
    else
      delete from agent_webui.chunk where cell = p_cell and path = p_paths[i];
      insert into agent_webui.file (cell, path, size, mode, digest, epoch, base_epoch, is_gone)
        values (p_cell, p_paths[i], p_sizes[i], p_modes[i], p_digests[i], p_epoch, p_epoch, p_kinds[i] = 'gone')
        on conflict (cell, path) do update set size = excluded.size, mode = excluded.mode,
          digest = excluded.digest, epoch = p_epoch, base_epoch = p_epoch, is_gone = excluded.is_gone;
      if p_sizes[i] > 0 then
        insert into agent_webui.chunk (cell, path, at, epoch, bytes)
          values (p_cell, p_paths[i], 0, p_epoch, p_bytes[i]);
      end if;
    end if;
  end loop;
  return 'written';
end $$;
`

/** Cells that workers start when they are needed, and the people who may use them. */
const WORKERS = `
alter table agent_webui.cell
  -- Workers run it.
  add column is_managed boolean not null default false,
  add column title text,
  -- Only workers that have all of them run it.
  add column labels text[] not null default '{}',
  -- That runs it, or ran it last: its directory is there.
  add column worker text,
  -- A worker began to start it then.
  add column started timestamptz,
  -- A request waited for it then.
  add column asked timestamptz,
  -- It has something to do then.
  add column wake timestamptz,
  -- Proves to the owner that a request comes from a forwarder.
  add column token text;

create table agent_webui.member (
  cell text not null references agent_webui.cell on delete cascade,
  person text not null,
  primary key (cell, person)
);
create index member_person on agent_webui.member (person);
insert into agent_webui.member (cell, person) select name, lower(name) from agent_webui.cell;

create table agent_webui.worker (
  name text primary key,
  address text not null,
  capacity integer not null,
  used integer not null,
  labels text[] not null,
  seen timestamptz not null
);

-- The advisory lock of a cell's owner: the same number as in the program.
create function agent_webui.is_held(p_cell text) returns boolean language sql stable as $$
  select exists (
    select from pg_locks l
    where l.locktype = 'advisory' and l.granted and l.objsubid = 1
      and l.database = (select oid from pg_database where datname = current_database())
      and ((l.classid::bigint << 32) | l.objid::bigint) =
        ('x' || encode(substring(sha256(convert_to('agent-webui cell ' || p_cell, 'UTF8')) from 1 for 8), 'hex'))::bit(64)::bigint
  )
$$;
`

/** What a list of several cells shows: numbers and a time, so no one needs a key to read it. */
const STATUS = `
alter table agent_webui.cell
  add column running integer not null default 0,
  add column waiting integer not null default 0,
  add column active timestamptz;
`

/** A worker that cannot start a cell leaves it to others. */
const AVOIDS = `
alter table agent_webui.worker add column avoids text[] not null default '{}';
`

/**
 * A file is found by the hash of its path, which has no limit, and has versions: one that is larger than a statement enters in
 * parts, and readers see them when the last one is there. `claim` keeps who owned a cell when, so that a database that went
 * back to an earlier state is noticed. A program of before still writes through the function that it knows.
 */
const VERSIONS = `
alter table agent_webui.cell add column id uuid not null default gen_random_uuid();
create table agent_webui.claim (
  cell text not null references agent_webui.cell on delete cascade,
  epoch bigint not null,
  id uuid not null,
  primary key (cell, epoch)
);
-- Workers delete the directories of these cells.
create table agent_webui.purged (id uuid primary key, at timestamptz not null default now());
-- It starts no cell, and ends those that it runs.
alter table agent_webui.worker add column is_draining boolean not null default false;

alter table agent_webui.chunk drop constraint chunk_cell_path_fkey;
alter table agent_webui.chunk drop constraint chunk_pkey;
alter table agent_webui.file drop constraint file_pkey;
alter table agent_webui.file add column key bytea, add column version bigint not null default 0;
alter table agent_webui.chunk add column key bytea, add column version bigint not null default 0;
update agent_webui.file set key = sha256(convert_to(path, 'UTF8'));
update agent_webui.chunk set key = sha256(convert_to(path, 'UTF8'));
alter table agent_webui.file add primary key (cell, key);
alter table agent_webui.chunk drop column path, add primary key (cell, key, version, at),
  add foreign key (cell) references agent_webui.cell on delete cascade;

create function agent_webui.push(
  p_cell text, p_epoch bigint, p_batch bigint, p_kinds text[], p_paths text[], p_versions bigint[],
  p_ats bigint[], p_sizes bigint[], p_modes integer[], p_digests bytea[], p_bytes bytea[]
) returns text language plpgsql as $$
declare
  v_epoch bigint;
  v_batch bigint;
  v_key bytea;
begin
  select epoch, batch into v_epoch, v_batch from agent_webui.cell where name = p_cell for update;
  if v_epoch is distinct from p_epoch then return 'lost'; end if;
  update agent_webui.cell set seen = clock_timestamp(), batch = greatest(batch, p_batch)
    where name = p_cell;
  if v_batch >= p_batch then return 'known'; end if;
  for i in 1 .. coalesce(array_length(p_paths, 1), 0) loop
    v_key := sha256(convert_to(p_paths[i], 'UTF8'));
    if p_kinds[i] = 'append' then
      update agent_webui.file set size = size + p_sizes[i], epoch = p_epoch
        where cell = p_cell and key = v_key and not is_gone and size = p_ats[i] and version = p_versions[i];
      if not found then raise exception 'agent-webui: % does not end at %', p_paths[i], p_ats[i]; end if;
    elsif p_kinds[i] <> 'part' then
      delete from agent_webui.chunk
        where cell = p_cell and key = v_key and (version <> p_versions[i] or at >= p_ats[i]);
      insert into agent_webui.file (cell, key, path, version, size, mode, digest, epoch, base_epoch, is_gone)
        values (p_cell, v_key, p_paths[i], p_versions[i], p_sizes[i], p_modes[i], p_digests[i],
          p_epoch, p_epoch, p_kinds[i] = 'gone')
        on conflict (cell, key) do update set version = excluded.version, size = excluded.size,
          mode = excluded.mode, digest = excluded.digest, epoch = p_epoch, base_epoch = p_epoch,
          is_gone = excluded.is_gone;
    end if;
    if p_kinds[i] <> 'gone' then
      insert into agent_webui.chunk (cell, key, version, at, epoch, bytes)
        values (p_cell, v_key, p_versions[i], p_ats[i], p_epoch, p_bytes[i])
        on conflict (cell, key, version, at) do update set epoch = excluded.epoch, bytes = excluded.bytes;
    end if;
  end loop;
  return 'written';
end $$;

create or replace function agent_webui.push(
  p_cell text, p_epoch bigint, p_batch bigint, p_kinds text[], p_paths text[], p_ats bigint[],
  p_sizes bigint[], p_modes integer[], p_digests bytea[], p_bytes bytea[]
) returns text language sql as $$
  select agent_webui.push(p_cell, p_epoch, p_batch, p_kinds, p_paths,
    array_fill(0::bigint, array[cardinality(p_paths)]), p_ats, p_sizes, p_modes, p_digests, p_bytes)
$$;
`

/** How many files the owner keeps to itself, such as one that is too large. */
const LEFT_OUT = `
alter table agent_webui.cell add column left_out integer not null default 0;
`

const STEPS: readonly string[] = [CELLS + PUSH, WORKERS, STATUS, AVOIDS, VERSIONS, LEFT_OUT]

/** One process at a time. The number is the same for every installation. */
const LOCK = createHash('sha256').update('agent-webui migrations').digest().readInt32BE()

/** The last step that was made; 0: there are no tables. */
const stepOf = async (db: Database): Promise<number> => {
  const [table] = await db.query("select to_regclass('agent_webui.migration') is not null as has")
  if (table?.has !== true) return 0
  const [row] = await db.query('select coalesce(max(step), 0) as step from agent_webui.migration')
  return Number(row?.step)
}

/** Whether the tables are at least those of this version. */
export const isMigrated = async (db: Database): Promise<boolean> =>
  (await stepOf(db)) >= STEPS.length

/** The last step that this version knows. */
export const KNOWN_STEP = STEPS.length

/** Throws a `ClusterError` when the tables were made by a newer version: what this one writes could be wrong there. */
export const requireKnownTables = async (db: Database): Promise<void> => {
  const step = await stepOf(db)
  if (step > STEPS.length)
    throw new ClusterError(
      `The tables of the cluster are those of a newer agent-webui (step ${step}, this one knows ${STEPS.length}). Install the newer version here too.`,
    )
}

/** Throws a `ClusterError` when the tables were made by a newer version. */
export const migrate = async (db: Database): Promise<void> => {
  await db.query('select pg_advisory_lock($1::bigint)', [LOCK])
  try {
    // A user that may not create schemas can be given this one.
    const [row] = await db.query("select to_regnamespace('agent_webui') as schema")
    if (!row?.schema) await db.query('create schema agent_webui')
    await db.query(
      'create table if not exists agent_webui.migration (step integer primary key, at timestamptz not null default now())',
    )
    await requireKnownTables(db)
    const done = await stepOf(db)
    for (const [at, step] of STEPS.entries()) {
      if (at < done) continue
      await db.query('begin')
      try {
        await db.query(step)
        await db.query('insert into agent_webui.migration (step) values ($1)', [at + 1])
        await db.query('commit')
      } catch (error) {
        await db.query('rollback')
        throw error
      }
    }
  } finally {
    await db.query('select pg_advisory_unlock($1::bigint)', [LOCK])
  }
}
