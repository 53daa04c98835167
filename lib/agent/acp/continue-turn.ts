/** Continues a turn that a restart of the service cut, where the agent can load its session. */
import { sentence, type Words } from '../../base/sentences.ts'
import type { Failure, LoopMessage, Outcome } from '../types.ts'
import type { ExternalSession } from '../external-agent.ts'
import {
  type AgentSide,
  attachToCutTurn,
  type AttachedSession,
  continuePrompt,
  toSavedSession,
} from './attach-session.ts'
import { TurnFailure } from './failures.ts'
import { historyHash } from './history-hash.ts'
import { syncPlanMode } from './plan.ts'
import { promptOnce, type ExternalTurn, untilAborted } from './prompt-once.ts'

/** Null when the agent has not received the message: the turn begins. Throws where it cannot continue safely. */
export const continueTurn = async (
  turn: ExternalTurn,
  history: readonly LoopMessage[],
  link: ExternalSession | null,
  side: AgentSide,
  warn: (message: Words) => void,
): Promise<Outcome | null> => {
  const { request, running } = turn
  const cut = await untilAborted(() => attachToCutTurn(running, history, request, link, side), turn)
  if (cut === 'unsent') return null
  if (cut === 'answered') return finished(turn, history)
  if (cut === 'lost') throw new TurnFailure(cannotContinue(running.name))
  return continueCut(turn, cut, history, warn)
}

/** The agent had answered when the service stopped: only the end of the turn was missing. */
const finished = ({ base }: ExternalTurn, history: readonly LoopMessage[]): Outcome => {
  const last = history.findLast(({ role }) => role === 'assistant')?.content
  return { ...base, status: 'finished', text: typeof last === 'string' ? last : '' }
}

const cannotContinue = (name: string): Failure => ({
  type: 'interrupted',
  message: sentence('turn.agent_lost', { name }),
  hint: sentence('turn.agent_saved'),
})

/** Asks the agent to continue the turn. */
const continueCut = async (
  turn: ExternalTurn,
  attached: AttachedSession,
  history: readonly LoopMessage[],
  warn: (message: Words) => void,
): Promise<Outcome> => {
  const { request, external, running } = turn
  const { session } = attached
  const { endpoint } = request
  running.sessions.set(request.sessionKey ?? '', session)
  session.onTitle = external.onTitle ?? null
  await untilAborted(() => syncPlanMode(request, running, session, warn), turn)
  const mark = historyHash(history)
  const message: LoopMessage = { role: 'user', content: continuePrompt(mark) }
  // The agent has its pictures.
  const { attachments: _, ...rest } = request
  const again = { ...turn, request: rest }
  const outcome = await promptOnce(
    again,
    attached,
    [...history, message],
    warn,
    ({ how, cost }) => {
      if (how === 'rejected') return
      const at = how === 'answered' ? { mark } : { mark: attached.mark, sent: mark }
      ignoreDeleted(() =>
        external.save(
          endpoint.agent?.id ?? endpoint.provider,
          toSavedSession(session, request, { ...at, cost }),
        ),
      )
    },
  )
  if (outcome === 'unknown') throw new TurnFailure(cannotContinue(running.name))
  return outcome
}

/** Ignores errors: a session that was deleted while its turn ended has no record, and needs none. */
export const ignoreDeleted = (saveState: () => void): void => {
  try {
    saveState()
  } catch {
    // As above.
  }
}
