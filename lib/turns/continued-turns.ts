/** Turns of an earlier process, from the start of the service until each has a model to call again. */
import type { Failure, ModelEndpoint } from '../agent/types.ts'
import { messageOf, missing, type UserError } from '../errors.ts'
import type { ActiveTurns } from './active-turns.ts'
import { rebuildTurn } from './build-turn.ts'
import type { EventLogRegistry } from './event-log-registry.ts'
import { INTERRUPTED } from './interrupted-turn.ts'
import type { Questions } from './questions.ts'
import { type Found, recoverTurn } from './recover.ts'
import type { ContinuedTurn } from './resume.ts'
import type { StartedTurn, TurnsOptions } from './turns.ts'
import type { Turn, TurnClient, TurnContext, Unattended } from './turn.ts'

type ContinuedTurnsOptions = Pick<
  TurnsOptions,
  'sessions' | 'clock' | 'log' | 'createContext' | 'onDone'
> & {
  active: ActiveTurns
  eventLogs: EventLogRegistry
  questions: Questions
  run: (turn: Turn, context: TurnContext) => StartedTurn['result']
  onInterrupted: (sessionId: string, streamId: string) => void
}

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

export const createContinuedTurns = (
  found: Pick<Found, 'continued' | 'done'>,
  {
    sessions,
    clock,
    log,
    createContext,
    active,
    eventLogs,
    questions,
    ...on
  }: ContinuedTurnsOptions,
) => {
  const waiting = new Map(found.continued.map(each => [rebuildTurn(each), each]))
  for (const [turn, { questions: open }] of waiting) {
    active.reserve(turn)
    eventLogs.put(turn.log)
    sessions.setLive(turn.sessionId, { active_stream_id: turn.streamId })
    for (const question of open) questions.restore(question)
  }

  /** Ends a turn that has not continued. `failure`: null when the user stopped it. */
  const giveUp = (turn: Turn, failure: Failure | null = INTERRUPTED): void => {
    const { sessionId, streamId, log: own } = turn
    turn.over = true
    try {
      questions.denyAll(sessionId, failure ? 'end of turn' : 'cancel')
      recoverTurn({ sessions, clock, sessionId, streamId, path: own.path }, own, failure)
      if (failure) on.onInterrupted(sessionId, streamId)
    } finally {
      // Even a full disk must not leave the session busy.
      active.release(turn)
      eventLogs.retire(own)
    }
  }

  const resumeOne = async (
    turn: Turn,
    { text, by }: ContinuedTurn,
    { endpointOf, workOf }: ResumeOptions,
  ): Promise<void> => {
    const { sessionId } = turn
    let work: ContinuedWork | null = null
    let started: StartedTurn | null = null
    try {
      work = by && workOf[by](sessionId)
      if (by && !work) throw missing(`The ${by} is gone.`)
      turn.unattended = work?.unattended ?? null
      turn.client = work?.client ?? null
      turn.endpoint = await (work ? work.endpoint() : endpointOf(sessionId))
      waiting.delete(turn)
      if (turn.over) return
      turn.context = createContext(turn, questions, text)
      started = { turn, result: on.run(turn, turn.context) }
    } catch (error) {
      waiting.delete(turn)
      log('a turn could not continue', { session_id: sessionId, error: messageOf(error) })
      if (!turn.over) giveUp(turn)
    } finally {
      work?.onRun?.(started)
    }
  }

  return {
    has: (turn: Turn): boolean => waiting.has(turn),
    giveUp,
    /**
     * Lets them continue, and sends queued messages that an earlier process could not send after a turn. Rejects when the
     * end of one could not be recorded.
     */
    async resume(options: ResumeOptions): Promise<void> {
      for (const sessionId of found.done) on.onDone?.(sessionId)
      await Promise.all([...waiting].map(([turn, each]) => resumeOne(turn, each, options)))
    },
  }
}
