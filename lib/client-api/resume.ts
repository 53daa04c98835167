/** Turns of programs that continue after a restart: those that need nothing of what their request brought. */
import type { TurnStarter } from '../turns/start-turn.ts'
import type { ApiToken } from '../schema/api-token.ts'
import type { Sessions } from '../sessions/types.ts'
import type { ContinuedWork } from '../turns/continued-turns.ts'
import type { StartedTurn, Turns } from '../turns/turns.ts'
import { OWNER_FIELD } from './locate-session.ts'

export type ResumeOptions = {
  sessions: Pick<Sessions, 'head'>
  turns: Pick<Turns, 'cancel'>
  turnStarter: Pick<TurnStarter, 'endpointToResume'>
  tokens: {
    /** Null for one that is not accepted any more. */
    find: (id: string) => ApiToken | null
    /** Aborted when it ends. */
    signal: (id: string) => AbortSignal
  }
}

/** What the turn of a session continues with; null when its token has ended. Its answer is read in the chat. */
export const createResume = ({ sessions, turns, turnStarter, tokens }: ResumeOptions) => {
  const endWith = (revoked: AbortSignal, { turn, result }: StartedTurn): void => {
    const stop = () => void turns.cancel(turn.streamId)
    if (revoked.aborted) stop()
    revoked.addEventListener('abort', stop, { once: true })
    void result.finally(() => revoked.removeEventListener('abort', stop))
  }

  return (sessionId: string): ContinuedWork | null => {
    const { [OWNER_FIELD]: id } = sessions.head(sessionId).meta
    const token = typeof id === 'string' ? tokens.find(id) : null
    if (!token) return null
    const { approvals } = token
    return {
      unattended: null,
      client: {
        instructions: '',
        tools: [],
        demands: {},
        oneCall: false,
        approvals,
        continues: true,
      },
      endpoint: () => turnStarter.endpointToResume(sessionId),
      onRun: started => started && endWith(tokens.signal(token.id), started),
    }
  }
}
