/**
 * Writes the sessions of our CLI into the host agent's state.db the way its own CLI does: each message when it is
 * complete, into the columns that exist in this version of the schema.
 */
import { randomBytes } from 'node:crypto'
import { type Clock, rising, toSeconds } from '../../base/clock.ts'
import type { Message, ToolCall } from '../../schema/message.ts'
import { cleanTitle, freeTitle } from './usage-mirror.ts'
import { ensureStateDb } from './create-database.ts'
import {
  addToColumns,
  type Database,
  insertRow,
  type Columns,
  setColumns,
  writeState,
} from './state-db.ts'

/** What a session was started with: a terminal, an editor (Agent Client Protocol), or a client of our MCP server. */
export type SessionSource = 'cli' | 'acp' | 'mcp'

type RecorderParts = {
  file: string
  /** Of new sessions; that of an existing one stays. */
  source: SessionSource
  addon: string | undefined
  clock: Clock
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

const recordedText = (content: RecordedMessage['content']): string =>
  typeof content === 'string' ? content : JSON.stringify(content)

export class SessionRecorder {
  readonly #parts: RecorderParts
  /** The host agent orders messages by it. */
  readonly #nextMs: () => number
  #queue: Promise<unknown> | null = null
  /** Tool name by call id: a tool result does not contain the name. */
  readonly #callNames = new Map<string, string>()

  constructor(parts: RecorderParts) {
    this.#parts = parts
    this.#nextMs = rising(parts.clock)
  }

  #at(): number {
    return toSeconds(this.#nextMs())
  }

  /**
   * Runs writes in order. Unless another connection holds the lock, the write has happened when this returns, so a kill
   * right after the call loses nothing.
   */
  #write(work: (db: Database) => void): void {
    const { file, addon, onError } = this.#parts
    const run = async () => {
      try {
        ensureStateDb(file, addon)
        await writeState(file, addon, work)
      } catch (error) {
        onError(error)
      }
    }
    const task: Promise<unknown> = this.#queue ? this.#queue.then(run) : run()
    this.#queue = task
    void task.then(() => {
      if (this.#queue === task) this.#queue = null
    })
  }

  #ensureRow(db: Database, id: string, more: Columns = {}): void {
    const row = { id, source: this.#parts.source, started_at: this.#at(), ...more }
    insertRow(db, 'sessions', row, 'insert or ignore')
  }

  begin(id: string, about: { model: string; cwd: string; maxSteps: number }): void {
    const { model, cwd, maxSteps } = about
    this.#write(db => {
      // The directory is here as well, because schemas before 30 have no column for it.
      const config = JSON.stringify({ max_iterations: maxSteps, cwd })
      const created_source = this.#parts.source
      this.#ensureRow(db, id, { model, model_config: config, cwd, created_source })
      // A resumed session has not ended.
      setColumns(db, id, { ended_at: null, end_reason: null })
    })
  }

  /** The system prompt, for programs that resume the session. */
  prompt(id: string, text: string): void {
    this.#write(db => setColumns(db, id, { system_prompt: text }))
  }

  message(id: string, message: RecordedMessage): void {
    const { role, content, tool_calls: calls = [], tool_call_id, reasoning } = message
    for (const call of calls) this.#callNames.set(call.id, call.function.name)
    const timestamp = this.#at()
    this.#write(db => {
      this.#ensureRow(db, id)
      insertRow(db, 'messages', {
        session_id: id,
        role,
        content: recordedText(content),
        tool_call_id: tool_call_id ?? null,
        tool_name: tool_call_id === undefined ? null : (this.#callNames.get(tool_call_id) ?? null),
        // The host agent knows no `via`, and some providers reject unknown keys.
        tool_calls:
          calls.length > 0 ? JSON.stringify(calls.map(({ via: _, ...call }) => call)) : null,
        timestamp,
        finish_reason: role !== 'assistant' ? null : calls.length > 0 ? TOOL_CALLS_REASON : 'stop',
        reasoning: reasoning ?? null,
      })
      addToColumns(db, id, { message_count: 1, tool_call_count: calls.length })
      setColumns(db, id, { last_activity_at: timestamp })
    })
  }

  usage(id: string, usage: RecordedUsage): void {
    this.#write(db => {
      const { output_tokens, estimated_cost } = usage
      const { cache_read_tokens = 0, cache_write_tokens = 0 } = usage
      addToColumns(db, id, {
        // The host agent counts cached tokens apart from the input.
        input_tokens: Math.max(0, usage.input_tokens - cache_read_tokens - cache_write_tokens),
        cache_read_tokens,
        cache_write_tokens,
        output_tokens,
        estimated_cost_usd: estimated_cost,
      })
      const isKnown = estimated_cost > 0
      setColumns(db, id, {
        billing_provider: usage.provider,
        billing_base_url: usage.baseUrl,
        cost_status: isKnown ? 'estimated' : 'unknown',
        cost_source: isKnown ? 'official_docs_snapshot' : 'none',
      })
    })
  }

  /** Sets the title if there is none; a number suffix makes it unique. */
  title(id: string, text: string): void {
    this.#write(db => {
      const row = db
        .prepare<[string], { title: string | null }>('select title from sessions where id = ?')
        .get(id)
      const name = cleanTitle(text)
      if (!row || row.title !== null || !name) return
      const title = freeTitle(db, id, name)
      if (title) setColumns(db, id, { title, title_source: 'derived' })
    })
  }

  end(id: string, reason: string): void {
    this.#write(db => setColumns(db, id, { ended_at: this.#at(), end_reason: reason }))
  }

  /** Resolves when every write so far has succeeded or failed. */
  async flush(): Promise<void> {
    while (this.#queue) await this.#queue
  }
}
