/** Starts turns, stops them, and closes their books: at most one a session, whatever the sockets do. */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { Failure, ModelEndpoint, Outcome, Providers } from '../agent/types.ts'
import { conflict, messageOf, UserError, unavailable } from '../errors.ts'
import type { Hub } from '../hub.ts'
import type { TurnEvent } from '../schema/event.ts'
import type { Message } from '../schema/message.ts'
import type { LiveTurn } from '../schema/session.ts'
import { emptyUsage } from '../schema/usage.ts'
import type { Entry } from '../sessions/entries.ts'
import type { Sessions } from '../sessions/types.ts'
import { publishTurnStart, recordTurnEnd, recordTurnStart, type UserInput } from './turn-journal.ts'
import { INTERRUPTED } from './interrupted-turn.ts'
import { createEventLog, type EventLog } from './event-log.ts'
import { createLiveState } from './live-turn.ts'
import { createStreamMask } from './mask-stream.ts'
import { createQuestions } from './questions.ts'
import { recoverTurn, recoverTurns } from './recover.ts'
import { createEventLogRegistry } from './event-log-registry.ts'
import { type TitleOptions, titleSession } from './generate-title.ts'
import { recordUnfinished, runAgent, type Turn, type TurnContext, type Unattended } from './turn.ts'

export type StartInput = UserInput & {
  sessionId: string
  /** The model to call, or the sentence why none can be called: then the turn fails with it, and the message is kept. */
  endpoint: ModelEndpoint | UserError
  unattended?: Unattended
}

export type TurnsOptions = {
  sessions: Sessions
  hub: Hub
  liveDir: string
  now: () => number
  log: (message: string, extra?: Record<string, unknown>) => void
  /** Everything a turn needs of its home, tools and prompt, as it stands when the turn starts. */
  createContext: (
    turn: Turn,
    questions: ReturnType<typeof createQuestions>,
    said: string,
  ) => TurnContext
  redactMessage: (message: Message) => Message
  providers: Providers
  titleEndpoint?: TitleOptions['titleEndpoint']
  logRetentionMs?: number
  /** The session is free again, or got its name. Must not throw. */
  onIdle?: (sessionId: string) => void
  /** A turn has ended well and the session is free: what waits may go out. Must not throw. */
  onDone?: (sessionId: string) => void
}

export type Turns = ReturnType<typeof createTurns>

export const createTurns = (deps: TurnsOptions) => {
  const { sessions, hub, now } = deps
  const active = new Map<string, Turn>()
  const eventLogs = createEventLogRegistry(deps.logRetentionMs)
  const running = new Set<Promise<unknown>>()
  /** Sessions in which something else than a turn is at work. */
  const busy = new Map<string, AbortController>()
  /** Turns whose end could not be written: session → log. */
  const abandoned = new Map<string, EventLog>()
  const winding = new AbortController()
  let closing = false
  mkdirSync(deps.liveDir, { recursive: true, mode: 0o700 })

  const questions = createQuestions({
    append: (sessionId, entries) => sessions.append(sessionId, entries),
    setLive: (sessionId, patch) => sessions.setLive(sessionId, patch),
    emit: (sessionId, event) => active.get(sessionId)?.log.append(event),
    publish: event => hub.publish('inbox', event),
    now,
    log: deps.log,
  })

  const publisher = (sessionId: string, streamId: string) => (event: TurnEvent, pos: number) =>
    void hub.publish(`session:${sessionId}`, event, { stream: streamId, pos })

  const end = (turn: Turn): void => {
    turn.log.append({ type: 'stream_end', data: { session_id: turn.sessionId } })
    eventLogs.retire(turn.log)
  }

  /** From here on the session is free again: no 409, not counted as running. */
  const release = (turn: Turn): void => {
    if (active.get(turn.sessionId) !== turn) return
    active.delete(turn.sessionId)
    sessions.setLive(turn.sessionId, { active_stream_id: null })
    sessions.release(turn.sessionId)
    deps.onIdle?.(turn.sessionId)
  }

  /** Refused while a turn runs: what edits the transcript must not meet it half-way. */
  const requireIdle = (sessionId: string): void => {
    const turn = active.get(sessionId)
    if (turn) {
      throw conflict('session already has an active stream', {
        code: 'session_busy',
        active_stream_id: turn.streamId,
      })
    }
    if (busy.has(sessionId))
      throw conflict('This conversation is being summarised or read in. Wait for it.', {
        code: 'session_compacting',
      })
  }

  const finish = async (turn: Turn, outcome: Outcome): Promise<void> => {
    recordTurnEnd(sessions, turn, 'done', outcome)
    await sessions.sync(turn.sessionId)
    release(turn)
    turn.log.append({
      type: 'done',
      data: { usage: outcome.usage, message_ids: turn.messageIds },
    })
    deps.onDone?.(turn.sessionId)
    // A title is not worth an error.
    await titleSession({ ...deps, signal: winding.signal }, turn).catch((error: unknown) =>
      deps.log('no title', { session_id: turn.sessionId, error: messageOf(error) }),
    )
    deps.onIdle?.(turn.sessionId)
    end(turn)
  }

  /** The end of a turn goes to the disk; who stops or fails does not wait for it. */
  const sync = (turn: Turn): void =>
    void sessions
      .sync(turn.sessionId)
      .catch((error: unknown) =>
        deps.log('not synced', { session_id: turn.sessionId, error: messageOf(error) }),
      )

  const fail = (turn: Turn, tools: TurnContext, outcome: Outcome): void => {
    const failure = outcome.failure ?? { type: 'no_response' as const, message: 'No answer came.' }
    const event = recordUnfinished(turn, tools, failure, now)
    recordTurnEnd(sessions, turn, 'failed', outcome)
    sync(turn)
    release(turn)
    turn.log.append(event)
    end(turn)
  }

  /**
   * The end of a turn that could not even be written down, for example because the disk is full: the session must be free
   * all the same. The readers are told from memory; what was sent stands in the live file, which is kept until it can be
   * folded into the transcript: before the session's next turn, or at the next start.
   */
  const abandon = (turn: Turn, error: unknown): void => {
    deps.log('a turn could not be recorded', {
      session_id: turn.sessionId,
      error: messageOf(error),
    })
    release(turn)
    const message = error instanceof UserError ? error.message : 'The turn could not be recorded.'
    turn.log.emitUnsaved({ type: 'apperror', data: { type: 'error', message } })
    turn.log.emitUnsaved({ type: 'stream_end', data: { session_id: turn.sessionId } })
    turn.log.close()
    abandoned.set(turn.sessionId, turn.log)
  }

  const run = async (turn: Turn, tools: TurnContext): Promise<Outcome | null> => {
    try {
      // The reply goes out first: reading a long history would hold it up.
      await setImmediate()
      if (turn.over) return null
      const outcome = await runAgent(turn, tools, now)
      if (turn.over) return null
      turn.over = true
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
    const row = sessions.require(input.sessionId)
    const id = row.session_id
    requireIdle(id)
    if (closing) throw unavailable('The service is shutting down.', { code: 'shutting_down' })
    const left = abandoned.get(id)
    if (left) {
      // Its end may stand in the transcript all the same: then only its last events were lost.
      const { turn: last } = sessions.head(id)
      if (last?.stream_id === left.stream_id && last.how === null) {
        recoverTurn({ ...deps, streamId: left.stream_id, sessionId: id, path: left.path })
      }
      abandoned.delete(id)
      eventLogs.retire(left)
    }
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
      unattended: input.unattended ?? null,
      log,
      live: createLiveState(now),
      mask: createStreamMask(),
      controller: new AbortController(),
      messageIds: [],
      usage: emptyUsage,
      context: null,
      over: false,
      writeError: null,
    }
    // Reserved before the first await: a second start meets the 409 above.
    active.set(id, turn)
    sessions.acquire(id)
    let entries: Entry[] = []
    try {
      entries = recordTurnStart(sessions, turn, row, input)
      turn.context = deps.createContext(turn, questions, input.text)
      sessions.setLive(id, { active_stream_id: streamId })
      await sessions.sync(id)
    } catch (error) {
      turn.over = true
      release(turn)
      log.close()
      log.remove()
      if (entries.length > 0) recordTurnEnd(sessions, turn, 'failed', null)
      throw error
    }
    eventLogs.put(log)
    // Stopped, by a delete for example, while the disk was awaited.
    if (turn.over) return { turn, result: Promise.resolve(null) }
    publishTurnStart(turn, entries, deps.redactMessage)
    const result = run(turn, turn.context)
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
      // Not equipped yet: `start` is in the same tick and will fail by itself.
      if (!turn.context) return
      const event = recordUnfinished(turn, turn.context, failure, now)
      recordTurnEnd(sessions, turn, failure ? 'interrupted' : 'cancelled', null)
      sync(turn)
      release(turn)
      turn.log.append(event)
      end(turn)
    } catch (error) {
      // Even a full disk must not leave the session stuck.
      abandon(turn, error)
    }
  }

  /** False when no such turn runs. The session is free when this returns. `failure`: why, when it was no person. */
  const cancel = (streamId: string, failure: Failure | null = null): boolean => {
    const turn = [...active.values()].find(each => each.streamId === streamId)
    if (!turn || turn.over) return false
    stop(turn, failure)
    return true
  }

  const live = (sessionId: string): LiveTurn | null => {
    const turn = active.get(sessionId)
    if (!turn || turn.over) return null
    const { messageId, text, reasoning } = turn.live.partial()
    const retry = turn.live.retry()
    const { model, provider } =
      turn.endpoint instanceof UserError ? { model: '', provider: '' } : turn.endpoint
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
      ...(retry && { retry }),
      subagents: turn.live.subagents(),
    }
  }

  /** Work on a session that is no turn: nothing else begins there until it has settled, and it ends with the service. */
  const runExclusive = async <T>(
    sessionId: string,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> => {
    requireIdle(sessionId)
    if (closing) throw unavailable('The service is shutting down.', { code: 'shutting_down' })
    const controller = new AbortController()
    busy.set(sessionId, controller)
    const result = work(controller.signal)
    running.add(result)
    try {
      return await result
    } finally {
      busy.delete(sessionId)
      running.delete(result)
      // What was queued meanwhile goes out, as behind a turn.
      const how = sessions.row(sessionId)?.last_turn
      if (!closing && (how === 'done' || how === null)) deps.onDone?.(sessionId)
    }
  }

  for (const log of recoverTurns({ sessions, liveDir: deps.liveDir, now, log: deps.log })) {
    eventLogs.put(log)
    eventLogs.retire(log)
  }

  return {
    questions,
    start,
    cancel,
    live,
    count: () => active.size,
    isActive: (sessionId: string) => active.has(sessionId),
    /** The stream of the session's turn, until the session is free again. */
    streamOf: (sessionId: string): string | null => active.get(sessionId)?.streamId ?? null,
    /** The running turns and what each has used so far. */
    running: () => [...active.values()].map(({ sessionId, usage }) => ({ sessionId, usage })),
    /** For streams that are no turn of a session. */
    eventLogs,
    isStreaming: (streamId: string) =>
      [...active.values()].some(turn => turn.streamId === streamId),
    log: eventLogs.get,
    requireIdle,
    runExclusive,
    /** Ends what `alone` is doing there; false when it does nothing. */
    interrupt(sessionId: string): boolean {
      const controller = busy.get(sessionId)
      controller?.abort(new Error('cancelled'))
      return controller !== undefined
    },
    /** Stops every turn as a person would, and waits for the engines to wind down (bounded by the caller). */
    async close(): Promise<void> {
      closing = true
      winding.abort(new Error('The service is shutting down.'))
      for (const controller of busy.values()) controller.abort(winding.signal.reason)
      for (const turn of [...active.values()]) if (!turn.over) stop(turn, INTERRUPTED)
      await Promise.allSettled([...running])
      questions.close()
      eventLogs.close()
    },
  }
}
