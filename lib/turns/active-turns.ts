/** The running turns, at most one per session. */
import { toSeconds } from '../base/clock.ts'
import type { LiveTurn } from '../schema/session.ts'
import { emptyUsage } from '../schema/usage.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { servedBy, type Turn } from './turn.ts'

export class ActiveTurns {
  readonly #sessions: Sessions
  readonly #onIdle: ((sessionId: string) => void) | undefined
  readonly #bySession = new Map<string, Turn>()

  constructor(sessions: Sessions, onIdle: ((sessionId: string) => void) | undefined) {
    this.#sessions = sessions
    this.#onIdle = onIdle
  }

  all(): Turn[] {
    return [...this.#bySession.values()]
  }

  get(sessionId: string): Turn | undefined {
    return this.#bySession.get(sessionId)
  }

  byStream(streamId: string): Turn | undefined {
    return this.all().find(turn => turn.streamId === streamId)
  }

  /** Must be called before the first `await` of a start, so that a second start is rejected. */
  reserve(turn: Turn): void {
    this.#bySession.set(turn.sessionId, turn)
    this.#sessions.acquire(turn.sessionId)
  }

  /** Frees the session for the next turn. */
  release(turn: Turn): void {
    const { sessionId } = turn
    if (this.get(sessionId) !== turn) return
    this.#bySession.delete(sessionId)
    this.#sessions.setLive(sessionId, { active_stream_id: null })
    this.#sessions.release(sessionId)
    this.#onIdle?.(sessionId)
  }
}

/** What a running turn has beyond the journal. */
export const toLiveTurn = (turn: Turn): LiveTurn => {
  const partial = turn.live.partial()
  // After a restart, what had been written is shown until the first delta of the repeated call replaces it.
  const { messageId, text, reasoning } =
    turn.resumed && partial.text === '' && partial.reasoning === ''
      ? { ...turn.live.unfinished(), messageId: null }
      : partial
  const retry = turn.live.retry()
  const writing = turn.live.writing()
  return {
    stream_id: turn.streamId,
    pos: turn.log.position(),
    started_at: toSeconds(turn.startedAt),
    ...servedBy(turn.endpoint),
    message_id: messageId,
    text,
    reasoning,
    tools: turn.live.tools(),
    ...(retry && { retry }),
    ...(writing && { writing }),
    ...(turn.usage !== emptyUsage && { usage: turn.usage }),
    subagents: turn.live.subagents(),
  }
}
