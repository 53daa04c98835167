/** Plan mode of a session: its state in the session's record, the tag that messages carry, and the question about a plan. */
import type { PlanMode } from '../../agent/tool-services.ts'
import type { Commands } from '../../commands/commands.ts'
import { isPlanApproval, PLAN_ANSWERS } from '../../base/plan-answers.ts'
import { redact } from '../../base/redact/redact.ts'
import { UserError } from '../../errors.ts'
import type { SessionMode } from '../../schema/session.ts'
import type { Meta } from '../../sessions/entries.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import type { Asker } from '../questions.ts'
import type { TurnScope } from './turn-scope.ts'

export const isPlanning = ({ mode }: Meta): boolean => mode === 'plan'

/** Plan mode of a turn's session, whose record holds it. */
export class SessionPlanMode implements PlanMode {
  readonly #scope: TurnScope
  readonly #sessions: Sessions
  readonly #questions: Asker

  constructor(scope: TurnScope, sessions: Sessions, questions: Asker) {
    this.#scope = scope
    this.#sessions = sessions
    this.#questions = questions
  }

  isOn(): boolean {
    return isPlanning(this.#sessions.head(this.#scope.sessionId).meta)
  }

  async present(plan: string, callId: string): Promise<string | null> {
    const { sessionId, unattended } = this.#scope
    if (unattended) return null
    const answer = await this.#questions.clarify(
      {
        session_id: sessionId,
        question: redact(plan),
        choices_offered: [...PLAN_ANSWERS],
        plan: true,
        call_id: callId,
      },
      // No time limit: the plan would be lost.
      0,
    )
    // The answer itself ends plan mode, except at the terminal, whose questions are not recorded.
    if (answer !== null && isPlanApproval(answer) && this.isOn())
      this.#sessions.append(sessionId, [{ t: 'meta', patch: { mode: 'normal' } }])
    return answer
  }
}

/**
 * Before each message of a session that was ever in plan mode, so that the newest one always says which mode applies. It is
 * part of the message, not of the system prompt, and recorded with it: the prompt cache stays valid when the mode changes.
 */
export const modeTag = (
  mode: SessionMode | null | undefined,
  { turn, home, workspace, sessionId, unattended }: TurnScope,
  runners: Commands,
): string => {
  if (!mode) return ''
  if (mode === 'normal') return '[Mode: normal]\n'
  const end = unattended
    ? 'No one can approve a plan now: when the task needs changes, your answer is the plan.'
    : 'When the task needs changes, present a plan with exit_plan_mode; the user approves it before anything changes.'
  const isOurs = !(turn.endpoint instanceof UserError) && turn.endpoint.apiMode !== 'acp'
  const runner = isOurs ? runners.runnerFor({ home, workspace, owner: sessionId }) : undefined
  const run = runner?.readOnly
    ? 'The terminal runs any command, but only /tmp can change and there is no network: builds and tests that write nothing else are possible. '
    : ''
  return `[Mode: plan] Read only: change nothing, on disk or elsewhere. ${run}${end}\n`
}
