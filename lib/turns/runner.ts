/** Starts and stops turns: at most one per session, independent of the connections that read it. */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Failure, ModelEndpoint, Outcome, Providers } from '../agent/types.ts'
import { conflict, messageOf, UserError, unavailable } from '../errors.ts'
import type { Hub } from '../hub.ts'
import type { TurnEvent } from '../schema/event.ts'
import type { Message } from '../schema/message.ts'
import type { Question } from '../schema/question.ts'
import type { SessionRow } from '../schema/session.ts'
import { emptyUsage } from '../schema/usage.ts'
import type { Entry } from '../sessions/entries.ts'
import type { Sessions } from '../sessions/types.ts'
import { createActiveTurns } from './active-turns.ts'
import { createTurnEndings, type EndedTurn } from './end-turn.ts'
import { createEventLog, type EventLog, type LogHeader } from './event-log.ts'
import { createEventLogRegistry } from './event-log-registry.ts'
import { createExclusiveWork } from './exclusive-work.ts'
import type { TitleOptions } from './generate-title.ts'
import { failureIn, INTERRUPTED } from './interrupted-turn.ts'
import { createLiveState } from './live-turn.ts'
import { createStreamMask } from './mask-stream.ts'
import { createQuestions, idOf, outlivesTurn, type Questions } from './questions.ts'
import { recoverTurn, recoverTurns } from './recover.ts'
import type { ContinuedTurn } from './resume.ts'
import { createRetryWaits } from './retry-waits.ts'
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
  /** Seconds since 1970. */
  now: () => number
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
  /** Turns of people go on after a restart. Default: they end as interrupted. */
  resumes?: boolean | undefined
  /** How long turns may take to reach a step boundary when the service stops, in milliseconds. */
  parkMs?: number | undefined
  /** The user answered a plan whose turn had ended. Must not throw. */
  onPlanAnswer?: (sessionId: string, answer: string) => void
}

export type StartedTurn = { turn: Turn; result: Promise<Outcome | null> }

export type Turns = ReturnType<typeof createTurns>

const SHUTTING_DOWN = 'The server is shutting down.'

/** Another try to reach a step boundary is not worth more: a supervisor kills what stops too slowly. */
const PARK_MS = 5_000

type OpenLog = (path: string, header: LogHeader) => EventLog

/** What a turn has in each process anew. */
const runState = (log: EventLog) => ({
  log,
  mask: createStreamMask(),
  controller: new AbortController(),
  retries: createRetryWaits(log.position),
  context: null,
  parking: null,
  over: false,
  limit: null,
  writeError: null,
})

const isOurs = (endpoint: ModelEndpoint | UserError): boolean =>
  !(endpoint instanceof UserError) && endpoint.apiMode !== 'acp'

const buildTurn = (
  { sessions, liveDir, now, resumes = false }: TurnsOptions,
  openLog: OpenLog,
  row: SessionRow,
  { endpoint, unattended, client }: StartInput,
): Turn => {
  const id = row.session_id
  const streamId = randomBytes(16).toString('hex')
  const startedAt = now()
  const header = { session_id: id, stream_id: streamId, at: startedAt }
  return {
    ...runState(openLog(join(liveDir, `${streamId}.jsonl`), header)),
    sessionId: id,
    streamId,
    startedAt,
    userMessageId: sessions.nextMessageId(id),
    endpoint,
    unattended: unattended ?? null,
    client: client ?? null,
    live: createLiveState(now),
    isResumable: resumes && !unattended && !client && isOurs(endpoint),
    resumed: null,
    messageIds: [],
    usage: emptyUsage,
  }
}

/** Its endpoint is found when it goes on. */
const rebuildTurn = ({ log, questions: _, text: __, ...continued }: ContinuedTurn): Turn => ({
  ...runState(log),
  ...continued,
  endpoint: unavailable('The service is starting.'),
  unattended: null,
  client: null,
  isResumable: true,
  usage: continued.resumed.usage,
})

export const createTurns = (options: TurnsOptions) => {
  const { sessions, hub, now, log } = options
  const active = createActiveTurns(options)
  const eventLogs = createEventLogRegistry(options.logRetentionMs)
  const exclusive = createExclusiveWork()
  const running = new Set<Promise<unknown>>()
  const shutdown = new AbortController()
  mkdirSync(options.liveDir, { recursive: true, mode: 0o700 })

  const openLog: OpenLog = (path, header) =>
    createEventLog(path, header, (event: TurnEvent, pos: number) => {
      const { session_id: id, stream_id: stream } = header
      hub.publish(`session:${id}`, event, { stream, pos })
    })

  const questions = createQuestions({
    append: (sessionId, entries) => sessions.append(sessionId, entries),
    setLive: (sessionId, patch) => sessions.setLive(sessionId, patch),
    emit(sessionId, event) {
      const turn = active.get(sessionId)
      if (turn) turn.log.append(event)
      // A plan whose turn has ended.
      else if (event.type === 'answered') hub.publish(`session:${sessionId}`, event)
    },
    publish: event => hub.publish('inbox', event),
    now,
    log,
  })
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

  const onInterrupted = (sessionId: string, streamId: string): void =>
    options.onEnded?.({ sessionId, streamId, failure: INTERRUPTED, text: '', isAttended: true })

  const onUnclosed = (sessionId: string, streamId: string): void => {
    const { messages, turn } = sessions.load(sessionId)
    if (turn?.stream_id !== streamId || turn.how === 'cancelled') return
    const last = messages.findLast(({ role }) => role === 'assistant')
    const text = typeof last?.content === 'string' ? last.content : ''
    const failure = last?._error ? failureIn(text) : null
    options.onEnded?.({ sessionId, streamId, failure, text, isAttended: true })
  }

  const run = (turn: Turn, context: TurnContext): Promise<Outcome | null> => {
    const result = endings.run(turn, context)
    running.add(result)
    void result.finally(() => running.delete(result))
    return result
  }

  const found = recoverTurns({ ...options, openLog, onInterrupted, onUnclosed })
  for (const each of found.logs) {
    eventLogs.put(each)
    eventLogs.retire(each)
  }
  /** Turns of an earlier process that have not gone on yet. */
  const continued = new Map(found.continued.map(each => [rebuildTurn(each), each]))
  for (const [turn, { questions: waiting }] of continued) {
    active.reserve(turn)
    eventLogs.put(turn.log)
    sessions.setLive(turn.sessionId, { active_stream_id: turn.streamId })
    for (const question of waiting) questions.restore(question)
  }

  /** Ends a turn that cannot go on. */
  const giveUp = (turn: Turn): void => {
    const { sessionId, streamId, log: own } = turn
    turn.over = true
    questions.denyAll(sessionId, 'end of turn')
    recoverTurn({ sessions, now, sessionId, streamId, path: own.path }, own)
    active.release(turn)
    eventLogs.retire(own)
    onInterrupted(sessionId, streamId)
  }

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
      publishTurnStart(turn, entries, options.redactMessage)
      return { turn, result: run(turn, turn.context) }
    },

    /** Lets the turns of an earlier process go on. `endpointOf`: the model to call now. */
    async resume(
      endpointOf: (sessionId: string) => Promise<ModelEndpoint | UserError>,
    ): Promise<void> {
      const resumeOne = async ([turn, { text }]: [Turn, ContinuedTurn]): Promise<void> => {
        const { sessionId } = turn
        try {
          turn.endpoint = await endpointOf(sessionId)
          continued.delete(turn)
          if (turn.over) return
          turn.context = options.createContext(turn, questions, text)
          void run(turn, turn.context)
        } catch (error) {
          continued.delete(turn)
          log('a turn could not go on', { session_id: sessionId, error: messageOf(error) })
          if (!turn.over) giveUp(turn)
        }
      }
      await Promise.all([...continued].map(resumeOne))
    },

    /**
     * False when no such turn is running. The session is free when this returns. `failure`: the reason when it was
     * not the user.
     */
    cancel(streamId: string, failure: Failure | null = null): boolean {
      const turn = active.byStream(streamId)
      if (!turn || turn.over) return false
      if (continued.has(turn)) giveUp(turn)
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
     * Parks turns that go on after a restart, stops the others as interrupted, and waits for the engines to finish
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
        await Promise.race([Promise.allSettled(running), pause(options.parkMs ?? PARK_MS)])
      for (const turn of parking) if (!turn.over) endings.suspend(turn)
      await Promise.allSettled([...running, exclusive.settled()])
      questions.close()
      eventLogs.close()
    },
  }
}
