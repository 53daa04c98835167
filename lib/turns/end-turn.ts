/** The ways a turn ends: finished, failed, stopped, or with an end that could not be written. */
import { setImmediate } from 'node:timers/promises'
import type { Failure, Outcome } from '../agent/types.ts'
import { every } from '../base/clock.ts'
import { sentence } from '../base/sentences.ts'
import { messageOf, UserError, wordsOf } from '../errors.ts'
import { outlivesTurn } from '../schema/question.ts'
import type { ActiveTurns } from './active-turns.ts'
import type { EventLogs } from './event-log.ts'
import { titleSession } from './generate-title.ts'
import { failedEvent, UNRECORDED } from './interrupted-turn.ts'
import type { Questions } from './questions.ts'
import { recoverTurn } from './recover.ts'
import { markGivenUp } from './resume.ts'
import {
  isExternal,
  recordHeld,
  recordUnfinished,
  runAgent,
  type Turn,
  type TurnContext,
} from './turn.ts'
import { recordTurnEnd } from './turn-journal.ts'
import type { TurnsOptions } from './turns.ts'

/** The end of a turn, as it is reported when it is recorded. `failure` is null when it finished. */
export type EndedTurn = {
  sessionId: string
  streamId: string
  failure: Failure | null
  /** The answer, or its start. */
  text: string
  /** A scheduled task or a program reads the result, not a person. */
  isAttended: boolean
}

const RETRY_MS = 5_000

export class TurnEndings {
  readonly #options: TurnsOptions
  readonly #active: ActiveTurns
  readonly #logs: EventLogs
  readonly #questions: Questions
  /** Aborted when the service stops. */
  readonly #shutdown: AbortSignal
  /** Turns whose end could not be written, for example because the disk was full: it is written as soon as it can be. */
  readonly #unrecorded = new Map<string, { turn: Turn; failure: Failure }>()
  #stopRetrying: (() => void) | null = null

  constructor(
    options: TurnsOptions,
    active: ActiveTurns,
    logs: EventLogs,
    questions: Questions,
    shutdown: AbortSignal,
  ) {
    this.#options = options
    this.#active = active
    this.#logs = logs
    this.#questions = questions
    this.#shutdown = shutdown
  }

  /** Runs the agent and ends the turn. Never rejects; null when the turn was stopped or could not be recorded. */
  async run(turn: Turn, context: TurnContext): Promise<Outcome | null> {
    const onStepBoundary = () => {
      if (turn.parking && !turn.over) this.suspend(turn)
    }
    try {
      // The HTTP response goes out first: reading a long history would delay it.
      await setImmediate()
      if (turn.over) return null
      const outcome = await runAgent(turn, context, this.#options.clock, onStepBoundary)
      if (turn.over) return null
      turn.over = true
      this.#questions.denyAll(turn.sessionId, 'end of turn')
      if (outcome.status === 'finished') await this.#finish(turn, outcome)
      else this.#fail(turn, context, outcome)
      return outcome
    } catch (error) {
      turn.over = true
      this.#abandon(turn, error)
      return null
    }
  }

  /**
   * Ends a turn now: by the user (`failure` null), or because the service stops. The session is free when this
   * returns; the engine finishes in the background.
   */
  stop(turn: Turn, failure: Failure | null): void {
    const { sessions, clock } = this.#options
    turn.over = true
    turn.controller.abort(new Error('cancelled'))
    try {
      if (this.#shutdown.aborted)
        this.#questions.denyAll(turn.sessionId, 'end of turn', outlivesTurn)
      else this.#questions.denyAll(turn.sessionId, failure ? 'end of turn' : 'cancel')
      // No context yet: `start` is in the same tick and fails on its own.
      if (!turn.context) return
      const event = recordUnfinished(turn, turn.context, failure, clock)
      recordTurnEnd(sessions, turn, failure ? 'interrupted' : 'cancelled', null)
      // A person who stopped it knows.
      if (failure) this.#report(turn, failure)
      this.#sync(turn)
      this.#active.release(turn)
      turn.log.append(event)
      this.#endStream(turn)
    } catch (error) {
      // Even a full disk must not leave the session busy.
      this.#abandon(turn, error)
    }
  }

  /** Suspends a turn at its next step boundary; now, when it has not begun, or only waits for a person or a provider. */
  park(turn: Turn): void {
    turn.parking = 'asked'
    const isWaiting = this.#questions.pending(turn.sessionId).length > 0 || turn.retries.isWaiting()
    // The steps of an external agent are its own.
    if (isWaiting || !turn.context || isExternal(turn)) this.suspend(turn)
  }

  /** Ends the run of a turn that continues in another process. Nothing else of it is recorded from now on. */
  suspend(turn: Turn): void {
    const { sessions, clock, resume } = this.#options
    turn.over = true
    turn.parking = 'suspended'
    try {
      if (resume?.isReplaced?.() !== true) {
        if (turn.context) recordHeld(turn, turn.context, clock)
        sessions.append(turn.sessionId, [{ t: 'turn_parked', stream_id: turn.streamId }])
      }
    } catch (error) {
      // It then counts as a crash.
      this.#log('a stop could not be recorded', turn, error)
    }
    // Before the signal, which would withdraw them.
    this.#questions.suspend(turn.sessionId)
    turn.controller.abort(new Error('The service stops.'))
    this.#sync(turn)
  }

  /** Writes the end of the turn of this session that could not be recorded, if there is one. Throws while that is impossible. */
  recoverUnrecorded(sessionId: string): void {
    const entry = this.#unrecorded.get(sessionId)
    if (!entry) return
    const { sessions, clock, hub } = this.#options
    const { turn, failure } = entry
    const { streamId, log } = turn
    const { turn: last } = sessions.head(sessionId)
    // The end may have reached the transcript; then only the last events were lost.
    if (last?.stream_id === streamId && last.how === null) {
      const leftover = { streamId, sessionId, path: log.path }
      recoverTurn(sessions, clock, leftover, { ...UNRECORDED, message: failure.message })
      this.#report(turn, failure)
      // Open pages have the transcript without it.
      hub.publish(`session:${sessionId}`, { type: 'reset', data: {} })
    }
    this.#unrecorded.delete(sessionId)
    this.#logs.retire(log)
  }

  close(): void {
    this.#stopRetrying?.()
    this.#stopRetrying = null
  }

  async #finish(turn: Turn, outcome: Outcome): Promise<void> {
    const { sessions, onDone, onIdle } = this.#options
    recordTurnEnd(sessions, turn, 'done', outcome)
    this.#report(turn, null, outcome.text)
    await sessions.sync(turn.sessionId)
    this.#active.release(turn)
    const data = { usage: outcome.usage, message_ids: turn.messageIds }
    turn.log.append({ type: 'done', data })
    onDone?.(turn.sessionId)
    // A missing title must not fail the turn.
    await titleSession(this.#options, turn, this.#shutdown).catch((error: unknown) =>
      this.#log('no title', turn, error),
    )
    onIdle?.(turn.sessionId)
    this.#endStream(turn)
  }

  #fail(turn: Turn, context: TurnContext, outcome: Outcome): void {
    const { sessions, clock } = this.#options
    const failure = outcome.failure ?? {
      type: 'no_response' as const,
      message: sentence('turn.no_response'),
    }
    const event = recordUnfinished(turn, context, failure, clock)
    if (failure.type === 'budget_reached') turn.limit = 'budget'
    // It could not continue after a restart.
    const isCut = turn.resumed !== null && failure.type === 'interrupted'
    recordTurnEnd(sessions, turn, isCut ? 'interrupted' : 'failed', outcome)
    this.#report(turn, failure)
    this.#sync(turn)
    this.#active.release(turn)
    turn.log.append(event)
    this.#endStream(turn)
  }

  /**
   * Ends a turn whose end cannot be written, for example because the disk is full: the session must be free anyway.
   * Readers get the last events from memory. What was sent stays in the live file until it can be recovered into the
   * transcript: as soon as there is space, before the session's next turn, or at the next start, which does not continue it.
   */
  #abandon(turn: Turn, error: unknown): void {
    this.#log('a turn could not be recorded', turn, error)
    this.#active.release(turn)
    const message = error instanceof UserError ? wordsOf(error) : sentence('turn.not_saved')
    const failure: Failure = { type: 'error', message }
    turn.log.emitUnsaved(failedEvent(failure))
    turn.log.emitUnsaved({ type: 'stream_end', data: { session_id: turn.sessionId } })
    turn.log.close()
    try {
      markGivenUp(turn.log.path)
    } catch (cause) {
      this.#log('a turn that was given up could not be marked', turn, cause)
    }
    this.#unrecorded.set(turn.sessionId, { turn, failure })
    this.#stopRetrying ??= every(this.#options.clock, RETRY_MS, () => this.#recoverAll())
  }

  #recoverAll(): void {
    const { sessions } = this.#options
    for (const [sessionId, { turn }] of this.#unrecorded) {
      try {
        if (sessions.row(sessionId)) this.#goOn(sessionId, turn)
        else if (!sessions.inTrash(sessionId)) this.#unrecorded.delete(sessionId)
      } catch {
        // Still no space; the reason was logged when the turn ended.
      }
    }
    if (this.#unrecorded.size === 0) this.close()
  }

  /** As after any turn that ended well. */
  #goOn(sessionId: string, turn: Turn): void {
    const { sessions, onDone } = this.#options
    const { turn: last } = sessions.head(sessionId)
    const isDone = last?.stream_id === turn.streamId && last.how === 'done'
    // Throws while there is no space, which a queued message needs.
    if (isDone) sessions.append(sessionId, [{ t: 'meta', patch: {} }])
    this.recoverUnrecorded(sessionId)
    if (isDone) onDone?.(sessionId)
  }

  #endStream(turn: Turn): void {
    turn.log.append({ type: 'stream_end', data: { session_id: turn.sessionId } })
    this.#logs.retire(turn.log)
  }

  #report(turn: Turn, failure: EndedTurn['failure'], text = ''): void {
    const { sessionId, streamId, unattended, client } = turn
    const isAttended = unattended === null && client === null
    this.#options.onEnded?.({ sessionId, streamId, failure, text, isAttended })
  }

  /** Syncs the journal in the background: stopping and failing do not wait for the disk. */
  #sync(turn: Turn): void {
    this.#options.sessions
      .sync(turn.sessionId)
      .catch((error: unknown) => this.#log('not synced', turn, error))
  }

  #log(what: string, { sessionId }: Turn, error: unknown): void {
    this.#options.log(what, { session_id: sessionId, error: messageOf(error) })
  }
}
