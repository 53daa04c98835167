/** The running turns, at most one per session. */
import { toSeconds } from '../base/clock.ts'
import { UserError } from '../errors.ts'
import type { LiveTurn } from '../schema/session.ts'
import { emptyUsage, type Usage } from '../schema/usage.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Turn } from './turn.ts'

export type ActiveTurns = ReturnType<typeof createActiveTurns>

export type ActiveTurnsOptions = {
  sessions: Pick<Sessions, 'setLive' | 'acquire' | 'release'>
  onIdle?: ((sessionId: string) => void) | undefined
}

export const createActiveTurns = ({ sessions, onIdle }: ActiveTurnsOptions) => {
  const bySession = new Map<string, Turn>()
  const all = (): Turn[] => [...bySession.values()]

  return {
    all,
    get: (sessionId: string): Turn | undefined => bySession.get(sessionId),
    byStream: (streamId: string): Turn | undefined =>
      all().find(turn => turn.streamId === streamId),
    usage: (): { sessionId: string; usage: Usage }[] =>
      all().map(({ sessionId, usage }) => ({ sessionId, usage })),

    /** Must be called before the first `await` of a start, so that a second start is rejected. */
    reserve(turn: Turn): void {
      bySession.set(turn.sessionId, turn)
      sessions.acquire(turn.sessionId)
    },

    /** Frees the session for the next turn. */
    release(turn: Turn): void {
      const { sessionId } = turn
      if (bySession.get(sessionId) !== turn) return
      bySession.delete(sessionId)
      sessions.setLive(sessionId, { active_stream_id: null })
      sessions.release(sessionId)
      onIdle?.(sessionId)
    },

    /** What the session's running turn has beyond the journal; null when none is running. */
    live(sessionId: string): LiveTurn | null {
      const turn = bySession.get(sessionId)
      return !turn || turn.over ? null : toLiveTurn(turn)
    },
  }
}

const toLiveTurn = (turn: Turn): LiveTurn => {
  const partial = turn.live.partial()
  // After a restart, what had been written is shown until the first delta of the repeated call replaces it.
  const { messageId, text, reasoning } =
    turn.resumed && partial.text === '' && partial.reasoning === ''
      ? { ...turn.live.unfinished(), messageId: null }
      : partial
  const retry = turn.live.retry()
  const { model, provider } =
    turn.endpoint instanceof UserError ? { model: '', provider: '' } : turn.endpoint
  return {
    stream_id: turn.streamId,
    pos: turn.log.position(),
    started_at: toSeconds(turn.startedAt),
    model,
    provider,
    message_id: messageId,
    text,
    reasoning,
    tools: turn.live.tools(),
    ...(retry && { retry }),
    ...(turn.usage !== emptyUsage && { usage: turn.usage }),
    subagents: turn.live.subagents(),
  }
}
