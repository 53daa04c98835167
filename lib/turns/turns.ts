/** Starts and stops turns: at most one per session, independent of the connections that read it. */
import { mkdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../base/clock.ts'
import type { Failure, ModelEndpoint, Outcome, Providers } from '../agent/types.ts'
import { conflict, type UserError, unavailable } from '../errors.ts'
import type { Hub } from '../http/hub.ts'
import type { Message } from '../schema/message.ts'
import type { Question } from '../schema/question.ts'
import type { SessionRow } from '../schema/session.ts'
import type { Entry } from '../sessions/entries.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { type ActiveTurns, createActiveTurns } from './active-turns.ts'
import { buildTurn, type OpenLog } from './build-turn.ts'
import { createContinuedTurns } from './continued-turns.ts'
import { createTurnEndings, type EndedTurn } from './end-turn.ts'
import { createEventLog, toReaders } from './event-log.ts'
import { createEventLogRegistry } from './event-log-registry.ts'
import { createExclusiveWork } from './exclusive-work.ts'
import type { TitleOptions } from './generate-title.ts'
import { failureIn, INTERRUPTED } from './interrupted-turn.ts'
import { idOf, outlivesTurn } from './open-questions.ts'
import { createQuestions, type Questions } from './questions.ts'
import { recoverTurns } from './recover.ts'
import type { Turn, TurnClient, TurnContext, Unattended } from './turn.ts'
import { publishTurnStart, recordTurnEnd, recordTurnStart, type UserInput } from './turn-journal.ts'

export type StartInput = UserInput & {
  sessionId: string
  /** The model to call, or why none can be called: then the turn fails with that error and the message is kept. */
  endpoint: ModelEndpoint | UserError
  unattended?: Unattended
  client?: TurnClient | undefined
}

export type TurnsOptions = {
  sessions: Sessions
  hub: Hub
  liveDir: string
  clock: Clock
  log: (message: string, extra?: Record<string, unknown>) => void
  /** Everything a turn needs of its home, tools and prompt, as of the start of the turn. */
  createContext: (turn: Turn, questions: Questions, text: string | null) => TurnContext
  redactMessage: (message: Message) => Message
  providers: Providers
  titleEndpoint?: TitleOptions['titleEndpoint']
  logRetentionMs?: number
  /** The session is idle again, or got its title. Must not throw. */
  onIdle?: (sessionId: string) => void
  /** A turn finished successfully and the session is idle: queued messages can be sent. Must not throw. */
  onDone?: (sessionId: string) => void
  /** A turn finished or failed, also one that an earlier process left open. Must not throw. */
  onEnded?: (ended: EndedTurn) => void
  /**
   * Turns of people continue after a restart; absent: they end as interrupted. `parkMs`: how long they may take to reach a
   * step boundary when the service stops, 5 s by default. `tookOver`: they ran on another machine. `isReplaced`: another process
   * continues them by now, and nothing may be written.
   */
  resume?: {
    parkMs?: number | undefined
    tookOver?: boolean | undefined
    isReplaced?: () => boolean
  }
  /** The user answered a plan whose turn had ended. Must not throw. */
  onPlanAnswer?: (sessionId: string, answer: string) => void
}

export type StartedTurn = { turn: Turn; result: Promise<Outcome | null> }

export type Turns = ReturnType<typeof createTurns>

/** A supervisor kills what stops too slowly. */
const PARK_MS = 5_000

const SHUTTING_DOWN = 'The server is shutting down.'

const questionsOf = ({ sessions, hub, clock, log }: TurnsOptions, active: ActiveTurns): Questions =>
  createQuestions({
    append: (sessionId, entries) => sessions.append(sessionId, entries),
    askedAfter(sessionId, id) {
      const isIn = ({ _decisions: all }: Message) => all?.some(each => each.id === id)
      // It was asked after one of the last messages, except a plan that waited through later turns.
      for (const limit of [8, Number.MAX_SAFE_INTEGER]) {
        const found = sessions.tail(sessionId, { limit }).messages.findLast(isIn)
        if (found) return found
      }
      return undefined
    },
    setLive: (sessionId, patch) => sessions.setLive(sessionId, patch),
    emit(sessionId, event) {
      const turn = active.get(sessionId)
      if (turn) turn.log.append(event)
      // A plan whose turn has ended.
      else if (event.type === 'answered') hub.publish(`session:${sessionId}`, event)
    },
    publish: event => hub.publish('inbox', event),
    isShown: question => hub.isShown(question),
    clock,
    log,
  })

/** Reports turns whose process died before it could. */
const createReports = ({ sessions, onEnded }: TurnsOptions) => ({
  onInterrupted: (sessionId: string, streamId: string): void =>
    onEnded?.({ sessionId, streamId, failure: INTERRUPTED, text: '', isAttended: true }),

  onUnclosed(sessionId: string, streamId: string): void {
    const { messages, turn } = sessions.load(sessionId)
    if (turn?.stream_id !== streamId || turn.how === 'cancelled') return
    const last = messages.findLast(({ role }) => role === 'assistant')
    const text = typeof last?.content === 'string' ? last.content : ''
    const failure = last?._error ? failureIn(text) : null
    onEnded?.({ sessionId, streamId, failure, text, isAttended: true })
  },
})

export const createTurns = (options: TurnsOptions) => {
  const { sessions, hub } = options
  const active = createActiveTurns(options)
  const eventLogs = createEventLogRegistry(options)
  const exclusive = createExclusiveWork()
  const running = new Set<Promise<unknown>>()
  const shutdown = new AbortController()
  mkdirSync(options.liveDir, { recursive: true, mode: 0o700 })

  const openLog: OpenLog = (path, header) => createEventLog(path, header, toReaders(hub, header))

  const questions = questionsOf(options, active)
  const endings = createTurnEndings({ ...options, active, eventLogs, questions }, shutdown.signal)

  const requireRunning = (): void => {
    if (shutdown.signal.aborted) throw unavailable(SHUTTING_DOWN, { code: 'shutting_down' })
  }

  /** Rejects while a turn or exclusive work runs: transcript edits must not interleave with them. */
  const requireIdle = (sessionId: string): void => {
    const turn = active.get(sessionId)
    if (turn) {
      throw conflict('session already has an active stream', {
        code: 'session_busy',
        active_stream_id: turn.streamId,
      })
    }
    if (exclusive.has(sessionId))
      throw conflict('This chat is being compacted or imported. Wait until that is done.', {
        code: 'session_compacting',
      })
  }

  /** Writes the start of a reserved turn; throws with the session free again when that fails. */
  const begin = async (turn: Turn, row: SessionRow, input: StartInput): Promise<Entry[]> => {
    let entries: Entry[] = []
    try {
      entries = recordTurnStart(sessions, turn, row, input)
      turn.context = options.createContext(turn, questions, input.text)
      sessions.setLive(turn.sessionId, { active_stream_id: turn.streamId })
      await sessions.sync(turn.sessionId)
    } catch (error) {
      turn.over = true
      active.release(turn)
      turn.log.close()
      turn.log.remove()
      if (entries.length > 0) recordTurnEnd(sessions, turn, 'failed', null)
      throw error
    }
    return entries
  }

  const run = (turn: Turn, context: TurnContext): Promise<Outcome | null> => {
    const result = endings.run(turn, context)
    running.add(result)
    void result.finally(() => running.delete(result))
    return result
  }

  const resumes = options.resume !== undefined
  const reports = createReports(options)
  const found = recoverTurns({ ...options, ...options.resume, resumes, openLog, ...reports })
  for (const each of found.logs) {
    eventLogs.put(each)
    eventLogs.retire(each)
  }
  const continued = createContinuedTurns(found, {
    ...options,
    active,
    eventLogs,
    questions,
    run,
    ...reports,
  })

  const isOrphan = (question: Question): boolean =>
    outlivesTurn(question) && !questions.find(idOf(question))
  for (const question of sessions.openQuestions().filter(isOrphan)) {
    const { session_id: id } = question
    questions.reopen(question, answer => options.onPlanAnswer?.(id, answer))
  }

  return {
    questions,
    requireIdle,

    async start(input: StartInput): Promise<StartedTurn> {
      const row = sessions.require(input.sessionId)
      requireIdle(row.session_id)
      requireRunning()
      endings.recoverUnrecorded(row.session_id)
      // This message takes the place of a plan whose turn has ended.
      questions.denyAll(row.session_id, 'new turn', question => !outlivesTurn(question))
      const turn = buildTurn(options, openLog, row, input)
      active.reserve(turn)
      const entries = await begin(turn, row, input)
      eventLogs.put(turn.log)
      // Stopped while the disk was synced, for example by a delete.
      if (turn.over || !turn.context) return { turn, result: Promise.resolve(null) }
      publishTurnStart(sessions, turn, entries, input.replaced, options.redactMessage)
      return { turn, result: run(turn, turn.context) }
    },

    resume: continued.resume,

    /**
     * False when no such turn is running. The session is free when this returns. `failure`: the reason when it was
     * not the user.
     */
    cancel(streamId: string, failure: Failure | null = null): boolean {
      const turn = active.byStream(streamId)
      if (!turn || turn.over) return false
      if (continued.has(turn)) continued.giveUp(turn, failure)
      else endings.stop(turn, failure)
      return true
    },

    /**
     * Repeats failed model calls of a turn now, including those of its subagents, instead of at the end of their wait.
     * `seen`: only waits that were announced up to this position of its log. False when there are none.
     */
    retryNow(streamId: string, seen?: number): boolean {
      const turn = active.byStream(streamId)
      return turn !== undefined && !turn.over && turn.retries.end(seen)
    },

    live: active.live,
    count: () => active.all().length,
    isActive: (sessionId: string) => active.get(sessionId) !== undefined,
    /** The stream of the session's turn, until the session is free again. */
    streamOf: (sessionId: string): string | null => active.get(sessionId)?.streamId ?? null,
    isStreaming: (streamId: string) => active.byStream(streamId) !== undefined,
    /** The running turns and what each has used so far. */
    running: active.usage,
    /** Also holds the logs of side questions. */
    eventLogs,
    log: eventLogs.get,

    /** Runs work that is not a turn: no turn starts in the session until it settles. Aborted at shutdown. */
    async runExclusive<T>(
      sessionId: string,
      work: (signal: AbortSignal) => Promise<T>,
    ): Promise<T> {
      requireIdle(sessionId)
      requireRunning()
      try {
        return await exclusive.run(sessionId, work)
      } finally {
        // Messages that were queued during the work are sent, as after a turn.
        const how = sessions.row(sessionId)?.last_turn
        if (!shutdown.signal.aborted && (how === 'done' || how === null))
          options.onDone?.(sessionId)
      }
    },

    /** Aborts the exclusive work of a session; false when there is none. */
    interrupt: exclusive.interrupt,

    /**
     * Parks turns that continue after a restart, stops the others as interrupted, and waits for the engines to finish
     * (bounded by the caller).
     */
    async close(): Promise<void> {
      shutdown.abort(new Error(SHUTTING_DOWN))
      exclusive.abortAll(shutdown.signal.reason)
      for (const turn of active.all().filter(({ over }) => !over)) {
        if (turn.isResumable) endings.park(turn)
        else endings.stop(turn, INTERRUPTED)
      }
      const parking = active.all().filter(({ parking: how, over }) => how === 'asked' && !over)
      if (parking.length > 0)
        await Promise.race([Promise.allSettled(running), pause(options.resume?.parkMs ?? PARK_MS)])
      for (const turn of parking) if (!turn.over) endings.suspend(turn)
      await Promise.allSettled([...running, exclusive.settled(), endings.close()])
      questions.close()
      eventLogs.close()
    },
  }
}
