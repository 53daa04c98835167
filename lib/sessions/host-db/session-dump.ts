/** Dumps, deletes and restores the rows of a session in the host agent's database. */
import { isObject } from '../../base/json.ts'
import { columnsOf, type Database } from './state-db.ts'
import { readLineage } from './read-messages.ts'

type TableRow = Record<string, unknown>
/** Rows by table, in the order they are deleted in, and the child sessions that lose their parent. */
export type SessionDump = {
  tables: { name: string; rows: TableRow[] }[]
  children: { id: string; parent: string }[]
}

const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** Tables with a foreign key to `sessions`, and the column. Read from the schema, because later versions add tables. */
const references = (db: Database): { table: string; column: string }[] => {
  const tables = db
    .prepare<[], { name: string }>("select name from sqlite_master where type = 'table'")
    .all()
    .map(({ name }) => name)
  const keys = tables.flatMap(table =>
    db
      .prepare<[string], { from: string }>(
        `select "from" from pragma_foreign_key_list(?) where "table" = 'sessions'`,
      )
      .all(table)
      .filter(() => table !== 'sessions')
      .map(({ from }) => ({ table, column: from })),
  )
  // Schema version 6 declares this key; a file created by another tool may not.
  const hasMessages = keys.some(({ table }) => table === 'messages')
  return hasMessages ? keys : [...keys, { table: 'messages', column: 'session_id' }]
}

const placeholders = (ids: readonly string[]): string => ids.map(() => '?').join(', ')

const select = (db: Database, table: string, column: string, ids: readonly string[]): TableRow[] =>
  db
    .prepare<string[], TableRow>(
      `select * from ${quoted(table)} where ${quoted(column)} in (${placeholders(ids)})`,
    )
    .all(...ids)

/** Reads the rows of a session and its lineage. Undefined when there is no such session. */
export const readDump = (db: Database, id: string): SessionDump | undefined => {
  const ids = readLineage(db, id)
  const sessions = select(db, 'sessions', 'id', ids)
  if (!sessions.some(row => row.id === id)) return undefined
  const hasParent = columnsOf(db, 'sessions').has('parent_session_id')
  const children = hasParent ? select(db, 'sessions', 'parent_session_id', ids) : []
  return {
    tables: [
      ...references(db).map(({ table, column }) => ({
        name: table,
        rows: select(db, table, column, ids),
      })),
      { name: 'sessions', rows: sessions },
    ],
    children: children
      .filter(row => !ids.includes(String(row.id)))
      .map(row => ({ id: String(row.id), parent: String(row.parent_session_id) })),
  }
}

/** Deletes the whole lineage: without its tip, an earlier part would reappear in the list. */
export const deleteSession = (db: Database, id: string): void => {
  const ids = readLineage(db, id)
  const among = placeholders(ids)
  if (columnsOf(db, 'sessions').has('parent_session_id')) {
    db.prepare(
      `update sessions set parent_session_id = null where parent_session_id in (${among})`,
    ).run(...ids)
  }
  for (const { table, column } of references(db)) {
    db.prepare(`delete from ${quoted(table)} where ${quoted(column)} in (${among})`).run(...ids)
  }
  db.prepare(`delete from sessions where id in (${among})`).run(...ids)
}

/** Inserts the rows that are missing; existing rows stay as they are. */
export const restoreDump = (db: Database, { tables, children }: SessionDump): void => {
  // Sessions first, because the others refer to them. A parent may come after its children.
  db.pragma('defer_foreign_keys = ON')
  for (const { name, rows } of tables.toReversed()) {
    const names = columnsOf(db, name)
    for (const row of rows) {
      const columns = Object.keys(row).filter(column => names.has(column))
      if (columns.length === 0) continue
      db.prepare(
        `insert or ignore into ${quoted(name)} (${columns.map(quoted).join(', ')})
         values (${columns.map(() => '?').join(', ')})`,
      ).run(...columns.map(column => row[column]))
    }
  }
  for (const { id, parent } of children) {
    db.prepare(
      'update sessions set parent_session_id = ? where id = ? and parent_session_id is null',
    ).run(parent, id)
  }
}

/** JSON with blobs as base64. */
export const formatDump = (dump: SessionDump): string =>
  JSON.stringify(dump, (_, value: unknown) =>
    isObject(value) && 'type' in value && value.type === 'Buffer'
      ? { $bytes: Buffer.from((value as unknown as { data: number[] }).data).toString('base64') }
      : value,
  )

export const parseDump = (text: string): SessionDump =>
  JSON.parse(text, (_, value: unknown) =>
    isObject(value) && '$bytes' in value ? Buffer.from(String(value.$bytes), 'base64') : value,
  ) as SessionDump
