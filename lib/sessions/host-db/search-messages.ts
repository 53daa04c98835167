/** Searches the messages of one host session. */
import type { Database } from './state-db.ts'
import { columnsOf } from './state-db.ts'
import { IS_PARTS, readContent } from './content.ts'
import { readLineage } from './read-messages.ts'

export type MessageQuery = {
  /** A message must contain all of them. */
  words: readonly string[]
  /** Empty means all roles. */
  roles: readonly string[]
  /** At most this many messages per session. */
  maxMessages: number
}

export type MessageHit = {
  role: string
  text: string
  /** Seconds since 1970. */
  timestamp: number | null
  before: string | null
  after: string | null
}

const MAX_CHARS = 20_000

/** Escapes `%` and `_`, which are wildcards in LIKE. */
const like = (word: string): string => `%${word.replace(/[\\%_]/g, '\\$&')}%`

type Row = { id: number; session_id: string; role: string; content: string; timestamp: number }

/** A list of parts cannot be parsed when truncated, so it is read completely. */
const CONTENT = `case when ${IS_PARTS} then content else substr(content, 1, ${MAX_CHARS}) end as content`

/** Newest first, each with the text before and after it. */
export const findMessages = (db: Database, id: string, query: MessageQuery): MessageHit[] => {
  const { words, roles, maxMessages } = query
  if (words.length === 0) return []
  const active = columnsOf(db, 'messages').has('active') ? 'and active = 1' : ''
  const chain = JSON.stringify(readLineage(db, id))
  const matches = (text: string) =>
    words.every(word => text.toLowerCase().includes(word.toLowerCase()))
  const rows = db
    .prepare<unknown[], Row>(
      `select id, session_id, role, ${CONTENT}, timestamp from messages
       where session_id in (select value from json_each(?)) ${active}
         ${roles.length > 0 ? 'and role in (select value from json_each(?))' : ''}
         and (${IS_PARTS} or (${words.map(() => "content like ? escape '\\'").join(' and ')}))
       order by timestamp desc, id desc`,
    )
    .iterate(chain, ...(roles.length > 0 ? [JSON.stringify(roles)] : []), ...words.map(like))
  const neighbor = (sign: '<' | '>', order: 'asc' | 'desc') =>
    db.prepare<[string, number], { content: string | null }>(
      `select ${CONTENT} from messages
       where session_id = ? and id ${sign} ? ${active} and coalesce(length(cast(content as blob)), 0) > 0
       order by id ${order} limit 1`,
    )
  const hits: Row[] = []
  for (const row of rows) {
    const text = readContent(row.content)
    if (text === row.content || matches(text))
      hits.push({ ...row, content: text.slice(0, MAX_CHARS) })
    if (hits.length >= maxMessages) break
  }
  const rowText = (row: { content: string | null } | undefined) =>
    row ? readContent(row.content).slice(0, MAX_CHARS) : null
  const [before, after] = [neighbor('<', 'desc'), neighbor('>', 'asc')]
  return hits.map(({ id: at, session_id, role, content, timestamp }) => ({
    role,
    text: content,
    timestamp: typeof timestamp === 'number' ? timestamp : null,
    before: rowText(before.get(session_id, at)),
    after: rowText(after.get(session_id, at)),
  }))
}
