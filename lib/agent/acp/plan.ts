/** Plan mode of an external agent: its own mode where it has one, and refusals of what it asks us for. */
import { sentence } from '../../base/sentences.ts'
import type { Words } from '../../base/sentences.ts'
import type { RequestPermissionOutcome, RequestPermissionRequest } from '@agentclientprotocol/sdk'
import { isObject } from '../../base/json.ts'
import { isPlanApproval } from '../../base/plan-answers.ts'
import { planRefusal } from '../plan-mode.ts'
import { shellContextFor } from '../tools/command-gate.ts'
import type { AgentRequest } from '../types.ts'
import type { RunningAgent } from './running-agent.ts'
import type { Session } from './session.ts'
import { type Modes, modesOf } from './choices.ts'
import { type Call, commandOf } from './tool-calls.ts'

/** Modes in which an agent changes nothing: Claude Code, Gemini CLI, and OpenCode call it `plan`, Codex `read-only`. */
const PLANNING = /^(?:plan|planning|plan mode|read-only|readonly|read only)$/i

const planIn = ({ choices }: Modes): string | undefined =>
  choices.find(({ id, name }) => PLANNING.test(id) || PLANNING.test(name))?.id

const REQUEST =
  'Plan mode is on: only read, change nothing on disk or elsewhere, and answer with your plan.'

/** Sets the agent's mode before a message. Returns what to say in words, to an agent without a plan mode; else ''. */
export const syncPlanMode = async (
  request: AgentRequest,
  running: RunningAgent,
  session: Session,
  warn: (message: Words) => void,
): Promise<string> => {
  const mode = modesOf(session, running.connection)
  const plan = mode && planIn(mode)
  if (!request.planMode?.isOn()) {
    const before = session.modeBeforePlan
    session.modeBeforePlan = null
    // It may have left its plan mode by itself.
    if (before !== null && mode && mode.current === plan) await mode.set(before)
    return ''
  }
  if (!mode || !plan) {
    warn(sentence('turn.agent_no_plan', { name: running.name }))
    return REQUEST
  }
  if (mode.current !== plan) {
    session.modeBeforePlan = mode.current
    await mode.set(plan)
  }
  return ''
}

/** What it may ask for in plan mode besides reading commands. */
const READING: ReadonlySet<string> = new Set(['read', 'search', 'think', 'fetch'])

/** Why plan mode forbids what the agent asks for; null when it does not. */
export const refusedByPlanMode = (request: AgentRequest, call: Call): string | null => {
  const command = commandOf(call)
  if (command === '' && READING.has(call.kind)) return null
  const shell = shellContextFor(request, request.workspace)
  return planRefusal(request.planMode, command || null, shell)
}

/** The text of a plan that an agent asks to leave its plan mode with. */
const planOf = ({ rawInput, content, title }: Call): string => {
  if (isObject(rawInput) && typeof rawInput.plan === 'string') return rawInput.plan
  const texts = content.flatMap(part =>
    part.type === 'content' && part.content.type === 'text' ? [part.content.text] : [],
  )
  return texts.join('\n\n') || title
}

/** Asks the user about the agent's plan. Null when the request is not about one. */
export const answerPlan = async (
  request: AgentRequest,
  call: Call,
  callId: string,
  options: RequestPermissionRequest['options'],
): Promise<RequestPermissionOutcome | null> => {
  const { planMode } = request
  if (call.kind !== 'switch_mode' || !planMode?.isOn()) return null
  const answer = await planMode.present(planOf(call), callId)
  const optionKind = answer !== null && isPlanApproval(answer) ? 'allow_once' : 'reject_once'
  const option = options.find(({ kind }) => kind === optionKind)
  return option ? { outcome: 'selected', optionId: option.optionId } : { outcome: 'cancelled' }
}
