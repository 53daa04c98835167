/** Turns of an earlier process, from the start of the service until each has a model to call again. */
import type { Failure, ModelEndpoint } from '../agent/types.ts'
import { messageOf, missing, type UserError } from '../errors.ts'
import type { ActiveTurns } from './active-turns.ts'
import { rebuildTurn } from './build-turn.ts'
import type { EventLogs } from './event-log.ts'
import { INTERRUPTED } from './interrupted-turn.ts'
import type { Questions } from './questions.ts'
import { recoverTurn, reportInterrupted } from './recover.ts'
import type { ContinuedTurn } from './resume.ts'
import type { StartedTurn, TurnsOptions } from './turns.ts'
import type { Turn, TurnClient, TurnContext, Unattended } from './turn.ts'

/** What a turn that no person began continues with. */
export type ContinuedWork = {
  unattended: Unattended | null
  client: TurnClient | null
  endpoint: () => Promise<ModelEndpoint | UserError>
  /** Called once it runs again; null: it could not. */
  onRun?: (started: StartedTurn | null) => void
}

export type ResumeOptions = {
  /** The model to call now. */
  endpointOf: (sessionId: string) => Promise<ModelEndpoint | UserError>
  /** Called before anything awaits. Null: the task or the program is gone, and its turn ends as interrupted. */
  workOf: Record<'task' | 'program', (sessionId: string) => ContinuedWork | null>
}

export class ContinuedTurns {
  readonly #options: TurnsOptions
  readonly #active: ActiveTurns
  readonly #logs: EventLogs
  readonly #questions: Questions
  readonly #waiting: Map<Turn, ContinuedTurn>

  constructor(
    turns: readonly ContinuedTurn[],
    options: TurnsOptions,
    active: ActiveTurns,
    logs: EventLogs,
    questions: Questions,
  ) {
    this.#options = options
    this.#active = active
    this.#logs = logs
    this.#questions = questions
    this.#waiting = new Map(turns.map(each => [rebuildTurn(each), each]))
    for (const [turn, { questions: open }] of this.#waiting) {
      active.reserve(turn)
      logs.put(turn.log)
      options.sessions.setLive(turn.sessionId, { active_stream_id: turn.streamId })
      for (const question of open) questions.restore(question)
    }
  }

  has(turn: Turn): boolean {
    return this.#waiting.has(turn)
  }

  /** Ends a turn that has not continued. `failure`: null when the user stopped it. */
  giveUp(turn: Turn, failure: Failure | null = INTERRUPTED): void {
    const { sessions, clock } = this.#options
    const { sessionId, streamId, log } = turn
    turn.over = true
    try {
      this.#questions.denyAll(sessionId, failure ? 'end of turn' : 'cancel')
      recoverTurn(sessions, clock, { sessionId, streamId, path: log.path }, failure, log)
      if (failure) reportInterrupted(this.#options, sessionId, streamId)
    } finally {
      // Even a full disk must not leave the session busy.
      this.#active.release(turn)
      this.#logs.retire(log)
    }
  }

  /** Lets them continue. Rejects when the end of one could not be recorded. */
  async resume(
    options: ResumeOptions,
    run: (turn: Turn, context: TurnContext) => StartedTurn['result'],
  ): Promise<void> {
    await Promise.all(
      [...this.#waiting].map(([turn, each]) => this.#resume(turn, each, options, run)),
    )
  }

  async #resume(
    turn: Turn,
    { text, by }: ContinuedTurn,
    { endpointOf, workOf }: ResumeOptions,
    run: (turn: Turn, context: TurnContext) => StartedTurn['result'],
  ): Promise<void> {
    const { sessionId } = turn
    let work: ContinuedWork | null = null
    let started: StartedTurn | null = null
    try {
      work = by && workOf[by](sessionId)
      if (by && !work) throw missing(`The ${by} is gone.`)
      turn.unattended = work?.unattended ?? null
      turn.client = work?.client ?? null
      turn.endpoint = await (work ? work.endpoint() : endpointOf(sessionId))
      this.#waiting.delete(turn)
      if (turn.over) return
      turn.context = this.#options.createContext(turn, this.#questions, text)
      started = { turn, result: run(turn, turn.context) }
    } catch (error) {
      this.#waiting.delete(turn)
      const about = { session_id: sessionId, error: messageOf(error) }
      this.#options.log('a turn could not continue', about)
      if (!turn.over) this.giveUp(turn)
    } finally {
      work?.onRun?.(started)
    }
  }
}
