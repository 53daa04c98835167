/**
 * Writes the sessions of our CLI into the host agent's state.db the way its own CLI does: each message when it is
 * complete, into the columns that exist in this version of the schema.
 */
import { randomBytes } from 'node:crypto'
import { type Clock, rising, toSeconds } from '../../base/clock.ts'
import type { Message, ToolCall } from '../../schema/message.ts'
import { cleanTitle, freeTitle } from './usage-mirror.ts'
import { readMessages } from './read-messages.ts'
import { ensureStateDb } from './create-database.ts'
import { columnsOf, type Database, readState, writeState } from './state-db.ts'

/** What a session was started with: a terminal, an editor (Agent Client Protocol), or a client of our MCP server. */
export type SessionSource = 'cli' | 'acp' | 'mcp'

export type SessionRecorderOptions = {
  file: string
  /** Of new sessions; that of an existing one stays. */
  source: SessionSource
  addon: string | undefined
  /** Seconds since 1970. */
  clock: Pick<Clock, 'now'>
  /** Called when a write fails. The session continues. */
  onError: (error: unknown) => void
}

export type RecordedUsage = {
  input_tokens: number
  output_tokens: number
  estimated_cost: number
  cache_read_tokens?: number
  cache_write_tokens?: number
  provider: string
  baseUrl: string
}

/** The part of a message that is recorded. */
export type RecordedMessage = {
  role: Message['role']
  content: Message['content']
  tool_calls?: ToolCall[]
  tool_call_id?: string
  reasoning?: string
}

const TOOL_CALLS_REASON = 'tool_calls'

const twoDigits = (value: number): string => String(value).padStart(2, '0')

/** `20260408_142501_a1b2c3`, in local time. */
export const newHostSessionId = (at: Date): string => {
  const day = `${at.getFullYear()}${twoDigits(at.getMonth() + 1)}${twoDigits(at.getDate())}`
  const time = `${twoDigits(at.getHours())}${twoDigits(at.getMinutes())}${twoDigits(at.getSeconds())}`
  return `${day}_${time}_${randomBytes(3).toString('hex')}`
}

type Row = Readonly<Record<string, string | number | null>>

/** The values whose columns exist; others are dropped without an error. */
const existingColumns = (
  db: Database,
  table: string,
  row: Row,
): [string, string | number | null][] => {
  const columns = columnsOf(db, table)
  return Object.entries(row).filter(([name]) => columns.has(name))
}

const insert = (db: Database, table: string, row: Row, verb = 'insert'): void => {
  const pairs = existingColumns(db, table, row)
  const names = pairs.map(([name]) => name)
  db.prepare(
    `${verb} into ${table} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`,
  ).run(...pairs.map(([, value]) => value))
}

const update = (db: Database, id: string, row: Row): void => {
  for (const [name, value] of existingColumns(db, 'sessions', row))
    db.prepare(`update sessions set ${name} = ? where id = ?`).run(value, id)
}

/** Adds to counters, because another program may update the same row. */
const increment = (db: Database, id: string, row: Readonly<Record<string, number>>): void => {
  for (const [name, value] of existingColumns(db, 'sessions', row))
    if (value)
      db.prepare(`update sessions set ${name} = coalesce(${name}, 0) + ? where id = ?`).run(
        value,
        id,
      )
}

const textOf = (content: RecordedMessage['content']): string =>
  typeof content === 'string' ? content : JSON.stringify(content)

export const createSessionRecorder = ({
  file,
  source,
  addon,
  clock,
  onError,
}: SessionRecorderOptions) => {
  // The host agent orders messages by it.
  const nextMs = rising(clock)
  const at = (): number => toSeconds(nextMs())
  let queue: Promise<unknown> | null = null
  /** Tool name by call id: a tool result does not contain the name. */
  const callNames = new Map<string, string>()

  /**
   * Runs writes in order. Unless another connection holds the lock, the write has happened when this returns, so a kill
   * right after the call loses nothing.
   */
  const write = (work: (db: Database) => void): void => {
    const run = async () => {
      try {
        ensureStateDb(file, addon)
        await writeState(file, addon, work)
      } catch (error) {
        onError(error)
      }
    }
    const before = queue
    const done: Promise<unknown> = before ? before.then(run) : run()
    queue = done
    void done.then(() => {
      if (queue === done) queue = null
    })
  }

  const ensureRow = (db: Database, id: string, more: Row = {}): void =>
    insert(db, 'sessions', { id, source, started_at: at(), ...more }, 'insert or ignore')

  return {
    begin(id: string, about: { model: string; cwd: string; maxSteps: number }): void {
      const { model, cwd, maxSteps } = about
      write(db => {
        // The directory is here as well, because schemas before 30 have no column for it.
        const config = JSON.stringify({ max_iterations: maxSteps, cwd })
        ensureRow(db, id, { model, model_config: config, cwd, created_source: source })
        // A resumed session has not ended.
        update(db, id, { ended_at: null, end_reason: null })
      })
    },

    /** The system prompt, for programs that resume the session. */
    prompt: (id: string, text: string): void =>
      write(db => update(db, id, { system_prompt: text })),

    message(id: string, message: RecordedMessage): void {
      const { role, content, tool_calls: calls = [], tool_call_id, reasoning } = message
      for (const call of calls) callNames.set(call.id, call.function.name)
      const timestamp = at()
      write(db => {
        ensureRow(db, id)
        insert(db, 'messages', {
          session_id: id,
          role,
          content: textOf(content),
          tool_call_id: tool_call_id ?? null,
          tool_name: tool_call_id === undefined ? null : (callNames.get(tool_call_id) ?? null),
          // The host agent knows no `via`, and some providers reject unknown keys.
          tool_calls:
            calls.length > 0 ? JSON.stringify(calls.map(({ via: _, ...call }) => call)) : null,
          timestamp,
          finish_reason:
            role !== 'assistant' ? null : calls.length > 0 ? TOOL_CALLS_REASON : 'stop',
          reasoning: reasoning ?? null,
        })
        increment(db, id, { message_count: 1, tool_call_count: calls.length })
        update(db, id, { last_activity_at: timestamp })
      })
    },

    usage(id: string, usage: RecordedUsage): void {
      write(db => {
        const { output_tokens, estimated_cost } = usage
        const { cache_read_tokens = 0, cache_write_tokens = 0 } = usage
        increment(db, id, {
          // The host agent counts cached tokens apart from the input.
          input_tokens: Math.max(0, usage.input_tokens - cache_read_tokens - cache_write_tokens),
          cache_read_tokens,
          cache_write_tokens,
          output_tokens,
          estimated_cost_usd: estimated_cost,
        })
        const isKnown = estimated_cost > 0
        update(db, id, {
          billing_provider: usage.provider,
          billing_base_url: usage.baseUrl,
          cost_status: isKnown ? 'estimated' : 'unknown',
          cost_source: isKnown ? 'official_docs_snapshot' : 'none',
        })
      })
    },

    /** Sets the title if there is none; a number suffix makes it unique. */
    title(id: string, text: string): void {
      write(db => {
        const stored = db
          .prepare<[string], { title: string | null }>('select title from sessions where id = ?')
          .get(id)
        const wanted = cleanTitle(text)
        if (!stored || stored.title !== null || !wanted) return
        const title = freeTitle(db, id, wanted)
        if (title) update(db, id, { title, title_source: 'derived' })
      })
    },

    end: (id: string, reason: string): void =>
      write(db => update(db, id, { ended_at: at(), end_reason: reason })),

    /** Resolves when every write so far has succeeded or failed. */
    async flush(): Promise<void> {
      while (queue) await queue
    },
  }
}

/** The id of the newest CLI session; undefined when there is none. */
export const newestHostSession = (file: string, addon: string | undefined): string | undefined =>
  readState(file, addon, db =>
    db
      .prepare<[string], { id: string }>(
        `select s.id from sessions s where s.source = ?
         and exists (select 1 from messages m where m.session_id = s.id)
         order by coalesce((select max(m.timestamp) from messages m where m.session_id = s.id), s.started_at) desc,
           s.rowid desc limit 1`,
      )
      .get('cli' satisfies SessionSource),
  )?.id

export type HostSession = { model: string | null; messages: Message[] }

/** A stored session to resume; undefined for an unknown id. */
export const readHostSession = (
  file: string,
  addon: string | undefined,
  id: string,
): HostSession | undefined =>
  readState(file, addon, db => {
    const found = db
      .prepare<[string], { model: string | null }>('select model from sessions where id = ?')
      .get(id)
    return found && { model: found.model, messages: readMessages(db, id) }
  })
