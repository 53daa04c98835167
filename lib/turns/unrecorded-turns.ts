/** Turns whose end could not be written, for example because the disk was full: it is written as soon as it can be. */
import { type Clock, every } from '../base/clock.ts'
import type { Failure } from '../agent/types.ts'
import { messageOf } from '../errors.ts'
import type { Hub } from '../http/hub.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { UNRECORDED } from './interrupted-turn.ts'
import { recoverTurn } from './recover.ts'
import { markGivenUp } from './resume.ts'
import type { Turn } from './turn.ts'

const RETRY_MS = 5_000

export type UnrecordedTurnsOptions = {
  sessions: Sessions
  hub: Pick<Hub, 'publish'>
  clock: Clock
  log: (message: string, extra?: Record<string, unknown>) => void
}

/** `retire`: its live file is no longer needed. `report`: its end is recorded now. `onDone`: it ended well, and there is space for the next. */
export const createUnrecordedTurns = (
  { sessions, hub, clock, log }: UnrecordedTurnsOptions,
  retire: (turn: Turn) => void,
  report: (turn: Turn, failure: Failure) => void,
  onDone?: (sessionId: string) => void,
) => {
  const waiting = new Map<string, { turn: Turn; failure: Failure }>()
  let stopRetrying: (() => void) | null = null

  /** Writes the end of the one of this session. Throws while that is impossible. */
  const recover = (sessionId: string): void => {
    const found = waiting.get(sessionId)
    if (!found) return
    const { turn, failure } = found
    const { streamId } = turn
    const { turn: last } = sessions.head(sessionId)
    // The end may have reached the transcript; then only the last events were lost.
    if (last?.stream_id === streamId && last.how === null) {
      const { path } = turn.log
      const why = { ...UNRECORDED, message: failure.message }
      recoverTurn({ sessions, clock, streamId, sessionId, path }, undefined, why)
      report(turn, failure)
      // Open pages have the transcript without it.
      hub.publish(`session:${sessionId}`, { type: 'reset', data: {} })
    }
    waiting.delete(sessionId)
    retire(turn)
  }

  /** As after any turn that ended well. */
  const goOn = (sessionId: string, { turn }: { turn: Turn }): void => {
    const { turn: last } = sessions.head(sessionId)
    const isDone = last?.stream_id === turn.streamId && last.how === 'done'
    // Throws while there is no space, which a queued message needs.
    if (isDone) sessions.append(sessionId, [{ t: 'meta', patch: {} }])
    recover(sessionId)
    if (isDone) onDone?.(sessionId)
  }

  const recoverAll = (): void => {
    for (const [sessionId, found] of waiting) {
      try {
        if (sessions.row(sessionId)) goOn(sessionId, found)
        else if (!sessions.inTrash(sessionId)) waiting.delete(sessionId)
      } catch {
        // Still no space; the reason was logged when the turn ended.
      }
    }
    if (waiting.size === 0) close()
  }

  const close = (): void => {
    stopRetrying?.()
    stopRetrying = null
  }

  return {
    add(turn: Turn, failure: Failure): void {
      try {
        markGivenUp(turn.log.path)
      } catch (error) {
        const about = { session_id: turn.sessionId, error: messageOf(error) }
        log('a turn that was given up could not be marked', about)
      }
      waiting.set(turn.sessionId, { turn, failure })
      stopRetrying ??= every(clock, RETRY_MS, recoverAll)
    },
    recover,
    close,
  }
}
