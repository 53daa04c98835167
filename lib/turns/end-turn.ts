/** The ways a turn ends: finished, failed, stopped, or with an end that could not be written. */
import { sentence } from '../base/sentences.ts'
import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../base/clock.ts'
import type { Failure, Outcome } from '../agent/types.ts'
import { messageOf, UserError, wordsOf } from '../errors.ts'
import type { Hub } from '../http/hub.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { ActiveTurns } from './active-turns.ts'
import type { EventLogRegistry } from './event-log-registry.ts'
import { type TitleOptions, titleSession } from './generate-title.ts'
import { outlivesTurn } from './open-questions.ts'
import type { Questions } from './questions.ts'
import { failedEvent } from './interrupted-turn.ts'
import {
  isExternal,
  recordHeld,
  recordUnfinished,
  runAgent,
  type Turn,
  type TurnContext,
} from './turn.ts'
import { recordTurnEnd } from './turn-journal.ts'
import { createUnrecordedTurns } from './unrecorded-turns.ts'

export type TurnEndingsOptions = Omit<TitleOptions, 'signal'> & {
  hub: Pick<Hub, 'publish'>
  sessions: Sessions
  active: ActiveTurns
  eventLogs: EventLogRegistry
  questions: Pick<Questions, 'denyAll' | 'pending' | 'suspend'>
  clock: Clock
  log: (message: string, extra?: Record<string, unknown>) => void
  resume?: { isReplaced?: () => boolean } | undefined
  onIdle?: ((sessionId: string) => void) | undefined
  onDone?: ((sessionId: string) => void) | undefined
  onEnded?: ((ended: EndedTurn) => void) | undefined
}

/** The end of a turn, as it is reported when it is recorded. `failure` is null when it finished. */
export type EndedTurn = {
  sessionId: string
  streamId: string
  failure: Pick<Failure, 'type' | 'message'> | null
  /** The answer, or its start. */
  text: string
  /** A scheduled task or a program reads the result, not a person. */
  isAttended: boolean
}

export const createTurnEndings = (options: TurnEndingsOptions, shutdown: AbortSignal) => {
  const { sessions, active, eventLogs, questions, clock } = options

  const endStream = (turn: Turn): void => {
    turn.log.append({ type: 'stream_end', data: { session_id: turn.sessionId } })
    eventLogs.retire(turn.log)
  }

  const report = (turn: Turn, failure: EndedTurn['failure'], text = ''): void =>
    options.onEnded?.({
      sessionId: turn.sessionId,
      streamId: turn.streamId,
      failure,
      text,
      isAttended: turn.unattended === null && turn.client === null,
    })

  const retire = (turn: Turn): void => eventLogs.retire(turn.log)
  const unrecorded = createUnrecordedTurns(options, retire, report, options.onDone)

  const logError = (what: string, turn: Turn) => (error: unknown) =>
    options.log(what, { session_id: turn.sessionId, error: messageOf(error) })

  /** Syncs the journal in the background: stopping and failing do not wait for the disk. */
  const sync = (turn: Turn): void =>
    void sessions.sync(turn.sessionId).catch(logError('not synced', turn))

  const finish = async (turn: Turn, outcome: Outcome): Promise<void> => {
    recordTurnEnd(sessions, turn, 'done', outcome)
    report(turn, null, outcome.text)
    await sessions.sync(turn.sessionId)
    active.release(turn)
    turn.log.append({
      type: 'done',
      data: { usage: outcome.usage, message_ids: turn.messageIds },
    })
    options.onDone?.(turn.sessionId)
    // A missing title must not fail the turn.
    await titleSession({ ...options, signal: shutdown }, turn).catch(logError('no title', turn))
    options.onIdle?.(turn.sessionId)
    endStream(turn)
  }

  const fail = (turn: Turn, context: TurnContext, outcome: Outcome): void => {
    const failure = outcome.failure ?? {
      type: 'no_response' as const,
      message: sentence('turn.no_response'),
    }
    const event = recordUnfinished(turn, context, failure, clock)
    if (failure.type === 'budget_reached') turn.limit = 'budget'
    // It could not continue after a restart.
    const isCut = turn.resumed !== null && failure.type === 'interrupted'
    recordTurnEnd(sessions, turn, isCut ? 'interrupted' : 'failed', outcome)
    report(turn, failure)
    sync(turn)
    active.release(turn)
    turn.log.append(event)
    endStream(turn)
  }

  /**
   * Ends a turn whose end cannot be written, for example because the disk is full: the session must be free anyway.
   * Readers get the last events from memory. What was sent stays in the live file until it can be recovered into the
   * transcript: as soon as there is space, before the session's next turn, or at the next start, which does not continue it.
   */
  const abandon = (turn: Turn, error: unknown): void => {
    logError('a turn could not be recorded', turn)(error)
    active.release(turn)
    const message = error instanceof UserError ? wordsOf(error) : sentence('turn.not_saved')
    const failure: Failure = { type: 'error', message }
    turn.log.emitUnsaved(failedEvent(failure))
    turn.log.emitUnsaved({ type: 'stream_end', data: { session_id: turn.sessionId } })
    turn.log.close()
    unrecorded.add(turn, failure)
  }

  /** Ends the run of a turn that continues in another process. Nothing else of it is recorded from now on. */
  const suspend = (turn: Turn): void => {
    turn.over = true
    turn.parking = 'suspended'
    try {
      if (options.resume?.isReplaced?.() !== true) {
        if (turn.context) recordHeld(turn, turn.context, clock)
        sessions.append(turn.sessionId, [{ t: 'turn_parked', stream_id: turn.streamId }])
      }
    } catch (error) {
      // It then counts as a crash.
      logError('a stop could not be recorded', turn)(error)
    }
    // Before the signal, which would withdraw them.
    questions.suspend(turn.sessionId)
    turn.controller.abort(new Error('The service stops.'))
    sync(turn)
  }

  const onStepBoundary = (turn: Turn) => () => {
    if (turn.parking && !turn.over) suspend(turn)
  }

  return {
    suspend,

    /** Suspends a turn at its next step boundary; now, when it has not begun, or only waits for a person or a provider. */
    park(turn: Turn): void {
      turn.parking = 'asked'
      const isWaiting = questions.pending(turn.sessionId).length > 0 || turn.retries.isWaiting()
      // The steps of an external agent are its own.
      if (isWaiting || !turn.context || isExternal(turn)) suspend(turn)
    },

    /** Runs the agent and ends the turn. Never rejects; null when the turn was stopped or could not be recorded. */
    async run(turn: Turn, context: TurnContext): Promise<Outcome | null> {
      try {
        // The HTTP response goes out first: reading a long history would delay it.
        await setImmediate()
        if (turn.over) return null
        const outcome = await runAgent(turn, context, clock, onStepBoundary(turn))
        if (turn.over) return null
        turn.over = true
        questions.denyAll(turn.sessionId, 'end of turn')
        if (outcome.status === 'finished') await finish(turn, outcome)
        else fail(turn, context, outcome)
        return outcome
      } catch (error) {
        turn.over = true
        abandon(turn, error)
        return null
      }
    },

    /**
     * Ends a turn now: by the user (`failure` null), or because the service stops. The session is free when this
     * returns; the engine finishes in the background.
     */
    stop(turn: Turn, failure: Failure | null): void {
      turn.over = true
      turn.controller.abort(new Error('cancelled'))
      try {
        if (shutdown.aborted) questions.denyAll(turn.sessionId, 'end of turn', outlivesTurn)
        else questions.denyAll(turn.sessionId, failure ? 'end of turn' : 'cancel')
        // No context yet: `start` is in the same tick and fails on its own.
        if (!turn.context) return
        const event = recordUnfinished(turn, turn.context, failure, clock)
        recordTurnEnd(sessions, turn, failure ? 'interrupted' : 'cancelled', null)
        // A person who stopped it knows.
        if (failure) report(turn, failure)
        sync(turn)
        active.release(turn)
        turn.log.append(event)
        endStream(turn)
      } catch (error) {
        // Even a full disk must not leave the session busy.
        abandon(turn, error)
      }
    },

    recoverUnrecorded: unrecorded.recover,
    close: unrecorded.close,
  }
}
