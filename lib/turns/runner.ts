/** Starts turns, stops them, and closes their books: at most one a session, whatever the sockets do. */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Failure, ModelEndpoint, Outcome } from '../agent/types.ts'
import { conflict, messageOf, missing, Refusal } from '../errors.ts'
import type { Hub } from '../hub.ts'
import type { TurnEvent } from '../schema/event.ts'
import type { Message } from '../schema/message.ts'
import type { LiveTurn } from '../schema/session.ts'
import { noUsage } from '../schema/usage.ts'
import { isProvisional, provisionalTitle } from '../sessions/title.ts'
import type { Entry } from '../sessions/entries.ts'
import type { Sessions } from '../sessions/types.ts'
import { INTERRUPTED } from './closing.ts'
import { createEventLog, type EventLog } from './event-log.ts'
import { createLive } from './live.ts'
import { createQuestions } from './questions.ts'
import { recoverTurns } from './recover.ts'
import { closeUnfinished, runAgent, type Turn, type TurnTools } from './turn.ts'

/** How long a finished turn's log can still be read. */
const KEEP_LOG_MS = 5 * 60_000

type TurnEnding = 'done' | 'failed' | 'cancelled' | 'interrupted'

export type StartInput = {
  sessionId: string
  text: string
  attachments: string[]
  /** What this turn changes of the session: model, workspace. */
  patch: Record<string, unknown>
  /** The model to call, or the sentence why none can be called: then the turn fails with it, and the message is kept. */
  endpoint: ModelEndpoint | Refusal
}

export type RunnerDeps = {
  sessions: Sessions
  hub: Hub
  liveDir: string
  now: () => number
  log: (message: string, extra?: Record<string, unknown>) => void
  /** Everything a turn needs of its home, tools and prompt, as it stands when the turn starts. */
  equip: (turn: Turn, questions: ReturnType<typeof createQuestions>) => TurnTools
  redactMessage: (message: Message) => Message
  /** A title from the first exchange; null when the provisional one stays. */
  makeTitle: (
    endpoint: ModelEndpoint,
    messages: Message[],
  ) => Promise<{ title: string; status: string } | null>
  keepLogMs?: number
}

export type Turns = ReturnType<typeof createTurns>

export const createTurns = (deps: RunnerDeps) => {
  const { sessions, hub, now } = deps
  const active = new Map<string, Turn>()
  const logs = new Map<string, EventLog>()
  const removals = new Set<NodeJS.Timeout>()
  const running = new Set<Promise<unknown>>()
  let closing = false
  mkdirSync(deps.liveDir, { recursive: true, mode: 0o700 })

  const questions = createQuestions({
    append: (sessionId, entries) => sessions.append(sessionId, entries),
    setLive: (sessionId, patch) => sessions.setLive(sessionId, patch),
    emit: (sessionId, event) => active.get(sessionId)?.log.append(event),
    announce: event => hub.publish('inbox', event),
    now,
  })

  const publisher = (sessionId: string, streamId: string) => (event: TurnEvent, pos: number) =>
    void hub.publish(`session:${sessionId}`, event, { stream: streamId, pos })

  /** A finished log stays readable for a while, then its file goes. */
  const retire = (log: EventLog): void => {
    log.close()
    const timer = setTimeout(() => {
      removals.delete(timer)
      logs.delete(log.stream_id)
      log.remove()
    }, deps.keepLogMs ?? KEEP_LOG_MS)
    timer.unref()
    removals.add(timer)
  }

  const end = (turn: Turn): void => {
    turn.log.append({ type: 'stream_end', data: { session_id: turn.sessionId } })
    retire(turn.log)
  }

  /** From here on the session is free again: no 409, not counted as running. */
  const release = (turn: Turn): void => {
    if (active.get(turn.sessionId) !== turn) return
    active.delete(turn.sessionId)
    sessions.setLive(turn.sessionId, { active_stream_id: null })
    sessions.release(turn.sessionId)
  }

  const closeBooks = (turn: Turn, how: TurnEnding, outcome: Outcome | null) => {
    const row = sessions.require(turn.sessionId)
    const usage = outcome?.usage ?? noUsage
    const spent = usage.input_tokens + usage.output_tokens > 0
    sessions.append(turn.sessionId, [
      { t: 'turn_ended', stream_id: turn.streamId, how, usage },
      ...(spent
        ? [
            {
              t: 'meta' as const,
              patch: {
                input_tokens: row.input_tokens + usage.input_tokens,
                output_tokens: row.output_tokens + usage.output_tokens,
                estimated_cost: row.estimated_cost + usage.estimated_cost,
                last_usage: usage,
              },
            },
          ]
        : []),
    ])
  }

  const title = async (turn: Turn): Promise<void> => {
    const before = sessions.require(turn.sessionId)
    if (before.llm_title_generated || !isProvisional(before.title, before.preview)) return
    if (turn.endpoint instanceof Refusal) return
    const made = await deps.makeTitle(turn.endpoint, sessions.load(turn.sessionId).messages)
    const row = sessions.row(turn.sessionId)
    // Renamed by hand, or gone, while we thought: the person's word stands.
    if (!made || !row || row.title !== before.title) return
    sessions.append(turn.sessionId, [
      { t: 'meta', patch: { title: made.title, llm_title_generated: true } },
    ])
    turn.log.append({
      type: 'title_status',
      data: { session_id: turn.sessionId, status: made.status, title: made.title },
    })
    turn.log.append({ type: 'title', data: { session_id: turn.sessionId, title: made.title } })
  }

  const finish = async (turn: Turn, outcome: Outcome): Promise<void> => {
    closeBooks(turn, 'done', outcome)
    await sessions.sync(turn.sessionId)
    release(turn)
    turn.log.append({
      type: 'done',
      data: { usage: outcome.usage, message_ids: turn.messageIds },
    })
    await title(turn)
    end(turn)
  }

  const fail = (turn: Turn, tools: TurnTools, outcome: Outcome): void => {
    const failure = outcome.failure ?? { type: 'no_response' as const, message: 'No answer came.' }
    const event = closeUnfinished(turn, tools, failure, now)
    closeBooks(turn, 'failed', outcome)
    release(turn)
    turn.log.append(event)
    end(turn)
  }

  /** The end of a turn that could not even be written down: the session must be free all the same. */
  const abandon = (turn: Turn, error: unknown): void => {
    deps.log('a turn could not be recorded', {
      session_id: turn.sessionId,
      error: messageOf(error),
    })
    release(turn)
    const message = error instanceof Refusal ? error.message : 'The turn could not be recorded.'
    hub.publish(
      `session:${turn.sessionId}`,
      { type: 'apperror', data: { type: 'error', message } },
      { stream: turn.streamId },
    )
    retire(turn.log)
  }

  const run = async (turn: Turn): Promise<Outcome | null> => {
    try {
      const tools = deps.equip(turn, questions)
      turn.tools = tools
      const outcome = await runAgent(turn, tools, now)
      if (turn.over) return null
      turn.over = true
      turn.outcome = outcome
      questions.denyAll(turn.sessionId, 'end of turn')
      if (outcome.status === 'finished') await finish(turn, outcome)
      else fail(turn, tools, outcome)
      return outcome
    } catch (error) {
      turn.over = true
      abandon(turn, error)
      return null
    }
  }

  const start = async (input: StartInput) => {
    const { sessionId } = input
    const row = sessions.require(sessionId)
    const other = active.get(row.session_id)
    if (other) {
      throw conflict('session already has an active stream', { active_stream_id: other.streamId })
    }
    if (closing) throw new Refusal('unavailable', 'The service is shutting down.')
    const id = row.session_id
    const streamId = randomBytes(16).toString('hex')
    const startedAt = now()
    const log = createEventLog(
      join(deps.liveDir, `${streamId}.jsonl`),
      { session_id: id, stream_id: streamId, at: startedAt },
      publisher(id, streamId),
    )
    const turn: Turn = {
      sessionId: id,
      streamId,
      startedAt,
      userMessageId: sessions.nextMessageId(id),
      endpoint: input.endpoint,
      log,
      live: createLive(now),
      controller: new AbortController(),
      messageIds: [],
      tools: null,
      over: false,
      fault: null,
      outcome: null,
    }
    const { model, provider } =
      input.endpoint instanceof Refusal ? { model: row.model ?? '', provider: '' } : input.endpoint
    // Reserved before the first await: a second start meets the 409 above.
    active.set(id, turn)
    sessions.hold(id)
    let entries: Entry[]
    try {
      const title = row.title === 'Untitled' ? { title: provisionalTitle(input.text) } : {}
      entries = sessions.append(id, [
        {
          t: 'meta',
          patch: { ...title, ...input.patch, composer_draft: { text: '', files: [] } },
        },
        {
          t: 'message',
          message: {
            id: turn.userMessageId,
            role: 'user',
            content: input.text,
            ...(input.attachments.length ? { attachments: input.attachments } : {}),
            timestamp: Math.floor(startedAt),
          },
        },
        {
          t: 'turn_started',
          stream_id: streamId,
          model,
          provider,
          message_id: turn.userMessageId,
        },
      ])
      sessions.setLive(id, { active_stream_id: streamId })
      await sessions.sync(id)
    } catch (error) {
      turn.over = true
      release(turn)
      log.close()
      log.remove()
      throw error
    }
    logs.set(streamId, log)
    log.append({
      type: 'turn_started',
      data: { session_id: id, stream_id: streamId, model, provider, started_at: startedAt },
    })
    for (const entry of entries) {
      if (entry.t === 'message')
        log.append({ type: 'message', data: { message: deps.redactMessage(entry.message) } })
    }
    const result = run(turn)
    running.add(result)
    void result.finally(() => running.delete(result))
    return { turn, result }
  }

  /** Ends a turn now: by the person (`failure` null) or because the service stops. The engine winds down behind it. */
  const stop = (turn: Turn, failure: Failure | null): void => {
    turn.over = true
    turn.controller.abort(new Error('cancelled'))
    try {
      questions.denyAll(turn.sessionId, failure ? 'end of turn' : 'cancel')
      if (!turn.tools) throw new Error('stopped before it began')
      const event = closeUnfinished(turn, turn.tools, failure, now)
      closeBooks(turn, failure ? 'interrupted' : 'cancelled', null)
      release(turn)
      turn.log.append(event)
      end(turn)
    } catch (error) {
      // Even a full disk must not leave the session stuck.
      abandon(turn, error)
    }
  }

  /** False when no such turn runs. The session is free when this returns. */
  const cancel = (streamId: string): boolean => {
    const turn = [...active.values()].find(each => each.streamId === streamId)
    if (!turn || turn.over) return false
    stop(turn, null)
    return true
  }

  const live = (sessionId: string): LiveTurn | null => {
    const turn = active.get(sessionId)
    if (!turn || turn.over) return null
    const { messageId, text, reasoning } = turn.live.partial()
    const { model, provider } =
      turn.endpoint instanceof Refusal ? { model: '', provider: '' } : turn.endpoint
    return {
      stream_id: turn.streamId,
      pos: turn.log.position(),
      started_at: turn.startedAt,
      model,
      provider,
      message_id: messageId,
      text,
      reasoning,
      tools: turn.live.tools(),
    }
  }

  for (const log of recoverTurns({ sessions, liveDir: deps.liveDir, now, log: deps.log })) {
    logs.set(log.stream_id, log)
    retire(log)
  }

  return {
    questions,
    start,
    cancel,
    live,
    count: () => active.size,
    isActive: (sessionId: string) => active.has(sessionId),
    isStreaming: (streamId: string) =>
      [...active.values()].some(turn => turn.streamId === streamId),
    /** Throws 'stream not found' for one that never was, or whose time is over. */
    log(streamId: string): EventLog {
      const log = logs.get(streamId)
      if (!log) throw missing('stream not found')
      return log
    },
    /** Refused while a turn runs: what edits the transcript must not meet it half-way. */
    requireIdle(sessionId: string): void {
      const turn = active.get(sessionId)
      if (turn) {
        throw conflict('session already has an active stream', { active_stream_id: turn.streamId })
      }
    },
    /** Stops every turn as a person would, and waits for the engines to wind down (bounded by the caller). */
    async close(): Promise<void> {
      closing = true
      for (const turn of [...active.values()]) if (!turn.over) stop(turn, INTERRUPTED)
      await Promise.allSettled([...running])
      questions.close()
      for (const timer of removals) clearTimeout(timer)
      for (const log of logs.values()) log.close()
    },
  }
}
