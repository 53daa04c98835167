/** Continues a session whose plan was answered after its turn had ended, for example because the service was restarted. */
import { messageOf } from '../errors.ts'
import { isPlanApproval, KEEP_PLANNING } from '../base/plan-answers.ts'
import type { Sessions } from '../sessions/sessions.ts'
import { turnRole } from './context/role-guards.ts'
import type { MessageQueue } from './queue.ts'

const APPROVED = 'I approve the plan. Carry it out.'

export const createPlanFollowUp =
  ({
    queue,
    sessions,
    log,
  }: {
    queue: Pick<MessageQueue, 'add' | 'send' | 'list'>
    sessions: Pick<Sessions, 'head'>
    log: (message: string, extra?: Record<string, unknown>) => void
  }) =>
  async (sessionId: string, answer: string): Promise<void> => {
    if (answer === KEEP_PLANNING) return
    const text = isPlanApproval(answer) ? APPROVED : answer
    try {
      // Queued first: where no turn can start, the message stays there.
      const { item, streamId } = await queue.add(sessionId, {
        text,
        attachments: [],
        role: turnRole(sessions.head(sessionId).meta),
      })
      const isWaiting = queue.list(sessionId).some(({ id }) => id === item.id)
      if (streamId === null && isWaiting) await queue.send(sessionId, item.id)
    } catch (error) {
      log('could not continue after a plan was answered', {
        session_id: sessionId,
        error: messageOf(error),
      })
    }
  }
