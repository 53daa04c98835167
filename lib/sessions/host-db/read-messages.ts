/** Reads the visible history of a host session across its lineage: compaction continues a session in a new row. */
import { asString, isObject } from '../../base/json.ts'
import type { Message, NewMessage, ToolCall } from '../../schema/message.ts'
import { readContent } from './content.ts'
import { continues, hasLineage } from './session-rows.ts'
import { columnsOf, type Database } from './state-db.ts'

type MessageColumns = Readonly<Record<string, unknown>>

/** Bounds the loop, because a damaged file may contain a cycle. */
const MAX_LINEAGE = 100

/** The ids from the given session up to the first one of its lineage, or down to the newest. */
const walk = (db: Database, id: string, way: 'up' | 'down'): string[] => {
  if (!hasLineage(columnsOf(db, 'sessions'))) return [id]
  const [from, to] = way === 'up' ? ['c', 'p'] : ['p', 'c']
  const step = db.prepare<[string], { id: string }>(
    `select ${to}.id from sessions c join sessions p on p.id = c.parent_session_id
     where ${from}.id = ? and ${continues('p', 'c')} order by c.started_at limit 1`,
  )
  const chain = [id]
  while (chain.length < MAX_LINEAGE) {
    const next = step.get(chain.at(-1) as string)?.id
    if (next === undefined || chain.includes(next)) break
    chain.push(next)
  }
  return chain
}

/** The session ids from the first one to the given one. */
export const readLineage = (db: Database, id: string): string[] => walk(db, id, 'up').toReversed()

/** The newest session of the lineage: the given id when it was never compacted. */
export const readLineageTip = (db: Database, id: string): string =>
  walk(db, id, 'down').at(-1) as string

const toCall = (value: unknown): ToolCall[] => {
  if (!isObject(value) || !('function' in value)) return []
  const { function: called, id, call_id } = value as MessageColumns
  if (!isObject(called)) return []
  const { name, arguments: args } = called as MessageColumns
  const callId = asString(id) || asString(call_id)
  if (!callId || typeof name !== 'string') return []
  const text = typeof args === 'string' ? args : JSON.stringify(args ?? {})
  return [{ id: callId, type: 'function', function: { name, arguments: text } }]
}

const toCalls = (json: unknown): ToolCall[] => {
  try {
    const calls: unknown = JSON.parse(asString(json) || '[]')
    return Array.isArray(calls) ? calls.flatMap(toCall) : []
  } catch {
    // Truncated or edited by hand: the rest of the message is still readable.
    return []
  }
}

const ROLES: ReadonlySet<unknown> = new Set(['system', 'user', 'assistant', 'tool'])

const toMessage = (row: MessageColumns): Message[] => {
  const { id, role, content, timestamp, tool_call_id, tool_name, reasoning } = row
  // Rows with other roles are internal notes of the agent.
  if (!ROLES.has(role)) return []
  const calls = role === 'assistant' ? toCalls(row.tool_calls) : []
  return [
    {
      id: `c${String(id)}`,
      role: role as Message['role'],
      content: readContent(content),
      ...(typeof timestamp === 'number' ? { timestamp } : {}),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
      ...(role === 'tool' && asString(tool_call_id)
        ? { tool_call_id: asString(tool_call_id) }
        : {}),
      ...(role === 'tool' && asString(tool_name) ? { name: asString(tool_name) } : {}),
      ...(asString(reasoning) ? { reasoning: asString(reasoning) } : {}),
    },
  ]
}

const OPTIONAL_COLUMNS = ['tool_calls', 'tool_call_id', 'tool_name', 'reasoning']

const readSession = (db: Database, id: string): Message[] => {
  const columns = columnsOf(db, 'messages')
  const more = OPTIONAL_COLUMNS.filter(column => columns.has(column)).map(column => `, ${column}`)
  const active = columns.has('active') ? 'and active = 1' : ''
  return db
    .prepare<[string], MessageColumns>(
      `select id, role, content, timestamp${more.join('')} from messages
       where session_id = ? ${active} order by timestamp, id`,
    )
    .all(id)
    .flatMap(toMessage)
}

/** Compares role, tool call id and content; ids and times differ between copies. */
export const isSameMessage = (a: NewMessage, b: NewMessage): boolean =>
  a.role === b.role &&
  a.tool_call_id === b.tool_call_id &&
  JSON.stringify(a.content) === JSON.stringify(b.content)

/** A compacted session starts with copies of its parent's first and last messages around a summary. Returns the rest. */
export const withoutCopies = (parent: readonly Message[], child: readonly Message[]): Message[] => {
  let head = 0
  while (
    head < child.length &&
    head < parent.length &&
    isSameMessage(child[head]!, parent[head]!)
  ) {
    head += 1
  }
  const last = parent.at(-1)
  const end = last
    ? child.findIndex((message, at) => at >= head && isSameMessage(message, last))
    : -1
  let start = end
  for (let at = parent.length - 1; start >= head && at >= 0; at -= 1, start -= 1) {
    if (!isSameMessage(child[start]!, parent[at]!)) break
  }
  return child.slice(head).filter((_, at) => at + head <= start || at + head > end)
}

/** True when messages of the session were replaced in place by a summary. */
export const isCompacted = (db: Database, id: string): boolean =>
  columnsOf(db, 'messages').has('compacted') &&
  db.prepare('select 1 from messages where session_id = ? and compacted = 1 limit 1').get(id) !==
    undefined

export const readMessages = (db: Database, id: string): Message[] => {
  let before: Message[] = []
  const all: Message[] = []
  for (const each of readLineage(db, id)) {
    const own = readSession(db, each)
    all.push(...withoutCopies(before, own))
    before = own
  }
  return all
}
