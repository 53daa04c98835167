/** Starts and stops turns: at most one per session, independent of the connections that read it. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '../base/clock.ts'
import type { Failure, ModelEndpoint, Outcome, Providers } from '../agent/types.ts'
import { conflict, type UserError, unavailable } from '../errors.ts'
import type { Hub } from '../http/hub.ts'
import type { Message } from '../schema/message.ts'
import { idOf, outlivesTurn } from '../schema/question.ts'
import type { LiveTurn, SessionRow } from '../schema/session.ts'
import type { Usage } from '../schema/usage.ts'
import type { JournalEntry } from '../sessions/entries.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { ActiveTurns, toLiveTurn } from './active-turns.ts'
import { buildTurn } from './build-turn.ts'
import { ContinuedTurns, type ResumeOptions } from './continued-turns.ts'
import { type EndedTurn, TurnEndings } from './end-turn.ts'
import { type EventLog, EventLogs } from './event-log.ts'
import { INTERRUPTED } from './interrupted-turn.ts'
import { Questions } from './questions.ts'
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
  /** The model that generates the title of a session served by `own`; `own` when absent. Null: none is asked. */
  titleEndpoint?: (sessionId: string, own: ModelEndpoint) => ModelEndpoint | null
  /** The session is idle again, or got its title. Must not throw. */
  onIdle?: (sessionId: string) => void
  /** A turn finished successfully and the session is idle: queued messages can be sent. Must not throw. */
  onDone?: (sessionId: string) => void
  /** A turn finished or failed, also one that an earlier process left open. Must not throw. */
  onEnded?: (ended: EndedTurn) => void
  /**
   * Turns of people continue after a restart; absent: they end as interrupted. `parkMs`: how long they may take to reach a
   * step boundary when the service stops, 5 s by default. `mayMove`: another machine may continue them. `tookOver`: they ran on
   * another one. `isReplaced`: another process continues them by now, and nothing may be written.
   */
  resume?: {
    parkMs?: number | undefined
    mayMove?: boolean
    tookOver?: boolean | undefined
    isReplaced?: () => boolean
  }
  /** The user answered a plan whose turn had ended. Must not throw. */
  onPlanAnswer?: (sessionId: string, answer: string) => void
}

export type StartedTurn = { turn: Turn; result: Promise<Outcome | null> }

/** A supervisor kills what stops too slowly. */
const PARK_MS = 5_000

const SHUTTING_DOWN = 'The server is shutting down.'

export class Turns {
  readonly questions: Questions
  /** Also holds the logs of side questions. */
  readonly eventLogs: EventLogs
  readonly #options: TurnsOptions
  readonly #active: ActiveTurns
  readonly #endings: TurnEndings
  readonly #continued: ContinuedTurns
  /** Sessions whose last turn ended well, but whose queued messages an earlier process may not have sent. */
  readonly #doneSessions: ReadonlySet<string>
  /** Engines, and work that is not a turn. */
  readonly #running = new Set<Promise<unknown>>()
  /** Of work that is not a turn, by session: no turn starts until it settles. */
  readonly #exclusive = new Map<string, AbortController>()
  readonly #shutdown = new AbortController()

  constructor(options: TurnsOptions) {
    const { sessions } = options
    this.#options = options
    this.#active = new ActiveTurns(sessions, options.onIdle)
    this.eventLogs = new EventLogs(options.clock)
    this.questions = new Questions(options, id => this.#active.get(id)?.log)
    const parts = [options, this.#active, this.eventLogs, this.questions] as const
    this.#endings = new TurnEndings(...parts, this.#shutdown.signal)
    const earlier = recoverTurns(options)
    for (const log of earlier.logs) {
      this.eventLogs.put(log)
      this.eventLogs.retire(log)
    }
    this.#doneSessions = earlier.doneSessions
    this.#continued = new ContinuedTurns(earlier.continued, ...parts)
    for (const question of sessions.openQuestions())
      if (outlivesTurn(question) && !this.questions.find(idOf(question)))
        this.questions.reopen(question, answer =>
          options.onPlanAnswer?.(question.session_id, answer),
        )
  }

  async start(input: StartInput): Promise<StartedTurn> {
    const { sessions, redactMessage } = this.#options
    const row = sessions.require(input.sessionId)
    this.requireIdle(row.session_id)
    this.#requireRunning()
    this.#endings.recoverUnrecorded(row.session_id)
    // This message takes the place of a plan whose turn has ended.
    this.questions.denyAll(row.session_id, 'new turn', question => !outlivesTurn(question))
    const turn = buildTurn(this.#options, row, input)
    this.#active.reserve(turn)
    const entries = await this.#begin(turn, row, input)
    this.eventLogs.put(turn.log)
    // Stopped while the disk was synced, for example by a delete.
    if (turn.over || !turn.context) return { turn, result: Promise.resolve(null) }
    publishTurnStart(sessions, turn, entries, input.replaced, redactMessage)
    return { turn, result: this.#run(turn, turn.context) }
  }

  /**
   * Lets turns of an earlier process continue, and sends queued messages that it could not send after a turn. Rejects when the
   * end of one could not be recorded.
   */
  async resume(options: ResumeOptions): Promise<void> {
    for (const sessionId of this.#doneSessions) this.#options.onDone?.(sessionId)
    await this.#continued.resume(options, (turn, context) => this.#run(turn, context))
  }

  /**
   * False when no such turn is running. The session is free when this returns. `failure`: the reason when it was
   * not the user.
   */
  cancel(streamId: string, failure: Failure | null = null): boolean {
    const turn = this.#active.byStream(streamId)
    if (!turn || turn.over) return false
    if (this.#continued.has(turn)) this.#continued.giveUp(turn, failure)
    else this.#endings.stop(turn, failure)
    return true
  }

  /**
   * Repeats failed model calls of a turn now, including those of its subagents, instead of at the end of their wait.
   * `seen`: only waits that were announced up to this position of its log. False when there are none.
   */
  retryNow(streamId: string, seen?: number): boolean {
    const turn = this.#active.byStream(streamId)
    return turn !== undefined && !turn.over && turn.retries.end(seen)
  }

  /** Rejects while a turn or exclusive work runs: transcript edits must not interleave with them. */
  requireIdle(sessionId: string): void {
    const turn = this.#active.get(sessionId)
    if (turn)
      throw conflict('session already has an active stream', {
        code: 'session_busy',
        active_stream_id: turn.streamId,
      })
    if (this.#exclusive.has(sessionId))
      throw conflict('This chat is being compacted or imported. Wait until that is done.', {
        code: 'session_compacting',
      })
  }

  /** What the session's running turn has beyond the journal; null when none is running. */
  live(sessionId: string): LiveTurn | null {
    const turn = this.#active.get(sessionId)
    return !turn || turn.over ? null : toLiveTurn(turn)
  }

  count(): number {
    return this.#active.all().length
  }

  isActive(sessionId: string): boolean {
    return this.#active.get(sessionId) !== undefined
  }

  /** The stream of the session's turn, until the session is free again. */
  streamOf(sessionId: string): string | null {
    return this.#active.get(sessionId)?.streamId ?? null
  }

  isStreaming(streamId: string): boolean {
    return this.#active.byStream(streamId) !== undefined
  }

  /** The running turns and what each has used so far. */
  running(): { sessionId: string; usage: Usage }[] {
    return this.#active.all().map(({ sessionId, usage }) => ({ sessionId, usage }))
  }

  log(streamId: string): EventLog {
    return this.eventLogs.get(streamId)
  }

  /** Runs work that is not a turn: no turn starts in the session until it settles. Aborted at shutdown. */
  async runExclusive<T>(sessionId: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    this.requireIdle(sessionId)
    this.#requireRunning()
    const controller = new AbortController()
    this.#exclusive.set(sessionId, controller)
    try {
      return await this.#track(work(AbortSignal.any([controller.signal, this.#shutdown.signal])))
    } finally {
      this.#exclusive.delete(sessionId)
      // Messages that were queued during the work are sent, as after a turn.
      const how = this.#options.sessions.row(sessionId)?.last_turn
      if (!this.#shutdown.signal.aborted && (how === 'done' || how === null))
        this.#options.onDone?.(sessionId)
    }
  }

  /** Aborts the exclusive work of a session; false when there is none. */
  interrupt(sessionId: string): boolean {
    const controller = this.#exclusive.get(sessionId)
    controller?.abort(new Error('cancelled'))
    return controller !== undefined
  }

  /**
   * Parks turns that continue after a restart, stops the others as interrupted, and waits for the engines to finish
   * (bounded by the caller).
   */
  async close(): Promise<void> {
    this.#shutdown.abort(new Error(SHUTTING_DOWN))
    for (const turn of this.#active.all().filter(({ over }) => !over)) {
      if (turn.isResumable) this.#endings.park(turn)
      else this.#endings.stop(turn, INTERRUPTED)
    }
    const parking = this.#active.all().filter(({ parking: how, over }) => how === 'asked' && !over)
    const parkMs = this.#options.resume?.parkMs ?? PARK_MS
    if (parking.length > 0) await Promise.race([Promise.allSettled(this.#running), pause(parkMs)])
    for (const turn of parking) if (!turn.over) this.#endings.suspend(turn)
    this.#endings.close()
    await Promise.allSettled(this.#running)
    this.questions.close()
    this.eventLogs.close()
  }

  #requireRunning(): void {
    if (this.#shutdown.signal.aborted) throw unavailable(SHUTTING_DOWN, { code: 'shutting_down' })
  }

  /** Writes the start of a reserved turn; throws with the session free again when that fails. */
  async #begin(turn: Turn, row: SessionRow, input: StartInput): Promise<JournalEntry[]> {
    const { sessions, createContext } = this.#options
    let entries: JournalEntry[] = []
    try {
      entries = recordTurnStart(sessions, turn, row, input)
      turn.context = createContext(turn, this.questions, input.text)
      sessions.setLive(turn.sessionId, { active_stream_id: turn.streamId })
      await sessions.sync(turn.sessionId)
    } catch (error) {
      turn.over = true
      this.#active.release(turn)
      turn.log.close()
      turn.log.remove()
      if (entries.length > 0) recordTurnEnd(sessions, turn, 'failed', null)
      throw error
    }
    return entries
  }

  #run(turn: Turn, context: TurnContext): Promise<Outcome | null> {
    return this.#track(this.#endings.run(turn, context))
  }

  #track<T>(work: Promise<T>): Promise<T> {
    this.#running.add(work)
    const remove = () => void this.#running.delete(work)
    work.then(remove, remove)
    return work
  }
}
