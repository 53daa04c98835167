/** Turns of an earlier process, from the start of the service until each has a model to call again. */
import type { ModelEndpoint } from '../agent/types.ts'
import { messageOf, type UserError } from '../errors.ts'
import type { ActiveTurns } from './active-turns.ts'
import { rebuildTurn } from './build-turn.ts'
import type { EventLogRegistry } from './event-log-registry.ts'
import type { Questions } from './questions.ts'
import { type Found, recoverTurn } from './recover.ts'
import type { ContinuedTurn } from './resume.ts'
import type { TurnsOptions } from './runner.ts'
import type { Turn, TurnContext } from './turn.ts'

type ContinuedTurnsOptions = Pick<
  TurnsOptions,
  'sessions' | 'now' | 'log' | 'createContext' | 'onDone'
> & {
  active: ActiveTurns
  eventLogs: EventLogRegistry
  questions: Questions
  run: (turn: Turn, context: TurnContext) => unknown
  onInterrupted: (sessionId: string, streamId: string) => void
}

export const createContinuedTurns = (
  found: Pick<Found, 'continued' | 'done'>,
  { sessions, now, log, createContext, active, eventLogs, questions, ...on }: ContinuedTurnsOptions,
) => {
  const waiting = new Map(found.continued.map(each => [rebuildTurn(each), each]))
  for (const [turn, { questions: open }] of waiting) {
    active.reserve(turn)
    eventLogs.put(turn.log)
    sessions.setLive(turn.sessionId, { active_stream_id: turn.streamId })
    for (const question of open) questions.restore(question)
  }

  /** Ends a turn that has not continued. */
  const giveUp = (turn: Turn): void => {
    const { sessionId, streamId, log: own } = turn
    turn.over = true
    try {
      questions.denyAll(sessionId, 'end of turn')
      recoverTurn({ sessions, now, sessionId, streamId, path: own.path }, own)
      on.onInterrupted(sessionId, streamId)
    } finally {
      // Even a full disk must not leave the session busy.
      active.release(turn)
      eventLogs.retire(own)
    }
  }

  const resumeOne = async (
    turn: Turn,
    { text }: ContinuedTurn,
    endpointOf: (sessionId: string) => Promise<ModelEndpoint | UserError>,
  ): Promise<void> => {
    const { sessionId } = turn
    try {
      turn.endpoint = await endpointOf(sessionId)
      waiting.delete(turn)
      if (turn.over) return
      turn.context = createContext(turn, questions, text)
      on.run(turn, turn.context)
    } catch (error) {
      waiting.delete(turn)
      log('a turn could not continue', { session_id: sessionId, error: messageOf(error) })
      if (!turn.over) giveUp(turn)
    }
  }

  return {
    has: (turn: Turn): boolean => waiting.has(turn),
    giveUp,
    /**
     * Lets them continue, and sends queued messages that an earlier process could not send after a turn. `endpointOf`: the
     * model to call now. Rejects when the end of one could not be recorded.
     */
    async resume(
      endpointOf: (sessionId: string) => Promise<ModelEndpoint | UserError>,
    ): Promise<void> {
      for (const sessionId of found.done) on.onDone?.(sessionId)
      await Promise.all([...waiting].map(([turn, each]) => resumeOne(turn, each, endpointOf)))
    },
  }
}
