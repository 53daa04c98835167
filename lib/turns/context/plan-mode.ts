/** Plan mode of a session: its state in the session's record, the tag that messages carry, and the question about a plan. */
import type { CommandRunner, PlanMode } from '../../agent/tool-services.ts'
import { isPlanApproval, PLAN_ANSWERS } from '../../base/plan-answers.ts'
import { UserError } from '../../errors.ts'
import type { Home } from '../../profiles/home.ts'
import type { SessionMode } from '../../schema/session.ts'
import type { Meta } from '../../sessions/entries.ts'
import type { Sessions } from '../../sessions/types.ts'
import type { Questions } from '../questions.ts'
import type { TurnScope } from './turn-scope.ts'

export const isPlanning = ({ mode }: Meta): boolean => mode === 'plan'

export type PlanModeOptions = {
  sessions: Pick<Sessions, 'head' | 'append'>
  clarify: Questions['clarify']
  redact: (text: string) => string
}

export const createPlanMode = (
  { sessionId, unattended }: Pick<TurnScope, 'sessionId' | 'unattended'>,
  { sessions, clarify, redact }: PlanModeOptions,
): PlanMode => {
  const isOn = () => isPlanning(sessions.head(sessionId).meta)
  return {
    isOn,
    async present(plan, callId) {
      if (unattended) return null
      const answer = await clarify(
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
      if (answer !== null && isPlanApproval(answer) && isOn())
        sessions.append(sessionId, [{ t: 'meta', patch: { mode: 'normal' } }])
      return answer
    },
  }
}

type ModeScope = Pick<TurnScope, 'turn' | 'home' | 'workspace' | 'sessionId' | 'unattended'>
export type RunnerFor = (scope: {
  home: Home
  workspace: string
  owner: string
  readable: readonly string[]
}) => CommandRunner | undefined

/**
 * Before each message of a session that was ever in plan mode, so that the newest one always says which mode applies. It is
 * part of the message, not of the system prompt, and recorded with it: the prompt cache stays valid when the mode changes.
 */
export const modeTag = (
  mode: SessionMode | null | undefined,
  { turn, home, workspace, sessionId, unattended }: ModeScope,
  runnerFor: RunnerFor,
): string => {
  if (!mode) return ''
  if (mode === 'normal') return '[Mode: normal]\n'
  const end = unattended
    ? 'No one can approve a plan now: when the task needs changes, your answer is the plan.'
    : 'When the task needs changes, present a plan with exit_plan_mode; the user approves it before anything changes.'
  const isOurs = !(turn.endpoint instanceof UserError) && turn.endpoint.apiMode !== 'acp'
  const runner = isOurs && runnerFor({ home, workspace, owner: sessionId, readable: [] })
  const run =
    runner && runner.readOnly
      ? 'The terminal runs any command, but only /tmp can change and there is no network: builds and tests that write nothing else are possible. '
      : ''
  return `[Mode: plan] Read only: change nothing, on disk or elsewhere. ${run}${end}\n`
}
