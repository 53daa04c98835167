/** Messages of a command-line session: the whole visible history, back through what compression cut into several sessions. */
import { asString, isObject } from '../base/json.ts'
import type { Message, NewMessage, ToolCall } from '../schema/message.ts'
import { readContent } from './content.ts'
import { continues, hasLineage } from './session-rows.ts'
import { columnsOf, type Database } from './state-db.ts'

type Stored = Readonly<Record<string, unknown>>

/** A lineage is as long as a person is patient; a ring in a damaged file must still end. */
const MAX_LINEAGE = 100

/** From the first session to the given one. */
export const readLineage = (db: Database, id: string): string[] => {
  if (!hasLineage(columnsOf(db, 'sessions'))) return [id]
  const parent = db.prepare<[string], { id: string }>(
    `select p.id from sessions c join sessions p on p.id = c.parent_session_id
     where c.id = ? and ${continues('p', 'c')}`,
  )
  const chain = [id]
  while (chain.length < MAX_LINEAGE) {
    const before = parent.get(chain[0] as string)?.id
    if (before === undefined || chain.includes(before)) break
    chain.unshift(before)
  }
  return chain
}

const toCall = (value: unknown): ToolCall[] => {
  if (!isObject(value) || !('function' in value)) return []
  const { function: called, id, call_id } = value as Stored
  if (!isObject(called)) return []
  const { name, arguments: given } = called as Stored
  const callId = asString(id) || asString(call_id)
  if (!callId || typeof name !== 'string') return []
  const written = typeof given === 'string' ? given : JSON.stringify(given ?? {})
  return [{ id: callId, type: 'function', function: { name, arguments: written } }]
}

const toCalls = (json: unknown): ToolCall[] => {
  try {
    const calls: unknown = JSON.parse(asString(json) || '[]')
    return Array.isArray(calls) ? calls.flatMap(toCall) : []
  } catch {
    // Written by hand or cut off: the message is still worth reading.
    return []
  }
}

const ROLES: ReadonlySet<unknown> = new Set(['system', 'user', 'assistant', 'tool'])

const toMessage = (stored: Stored): Message[] => {
  const { id, role, content, timestamp, tool_call_id, tool_name, reasoning } = stored
  // Rows of other roles are notes the agent keeps for itself.
  if (!ROLES.has(role)) return []
  const calls = role === 'assistant' ? toCalls(stored.tool_calls) : []
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

const readOwn = (db: Database, id: string): Message[] => {
  const columns = columnsOf(db, 'messages')
  const more = OPTIONAL_COLUMNS.filter(column => columns.has(column)).map(column => `, ${column}`)
  const active = columns.has('active') ? 'and active = 1' : ''
  return db
    .prepare<[string], Stored>(
      `select id, role, content, timestamp${more.join('')} from messages
       where session_id = ? ${active} order by timestamp, id`,
    )
    .all(id)
    .flatMap(toMessage)
}

/** The same words by the same speaker, wherever they stand. */
export const isSameMessage = (a: NewMessage, b: NewMessage): boolean =>
  a.role === b.role &&
  a.tool_call_id === b.tool_call_id &&
  JSON.stringify(a.content) === JSON.stringify(b.content)

/**
 * A compressed session begins with copies of its parent's first and last messages around a summary. What is new in it:
 * everything but those copies.
 */
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

/** Where the conversation goes on after compression: the id itself when it does not. */
export const readLineageTip = (db: Database, id: string): string => {
  if (!hasLineage(columnsOf(db, 'sessions'))) return id
  const child = db.prepare<[string], { id: string }>(
    `select c.id from sessions c join sessions p on p.id = c.parent_session_id
     where p.id = ? and ${continues('p', 'c')} order by c.started_at limit 1`,
  )
  const chain = [id]
  while (chain.length < MAX_LINEAGE) {
    const next = child.get(chain.at(-1) as string)?.id
    if (next === undefined || chain.includes(next)) break
    chain.push(next)
  }
  return chain.at(-1) as string
}

/** Messages of it were replaced by a summary where they stood. */
export const isCompacted = (db: Database, id: string): boolean =>
  columnsOf(db, 'messages').has('compacted') &&
  db.prepare('select 1 from messages where session_id = ? and compacted = 1 limit 1').get(id) !==
    undefined

export const readMessages = (db: Database, id: string): Message[] => {
  let before: Message[] = []
  const all: Message[] = []
  for (const each of readLineage(db, id)) {
    const own = readOwn(db, each)
    all.push(...withoutCopies(before, own))
    before = own
  }
  return all
}
