/** A decision as an English sentence, for exports and shared pages. */
import { isPlanApproval, KEEP_PLANNING } from '../base/plan-answers.ts'
import type { Decision } from './decision.ts'

/** `lead`, then `what` (as code when it is a command), then `end`; each may be empty. */
export type DecisionSentence = { lead: string; what: string; isCode: boolean; end: string }

const UNANSWERED = {
  timeout: 'not answered in time',
  withdrawn: 'no longer needed',
  ended: 'not answered before the turn ended',
} as const

const REACH = {
  session: 'for this chat',
  workspace: 'always, in this workspace',
  profile: 'always, in this profile',
} as const

const reachOf = ({ answer, scope, rule }: Decision): string => {
  const reach = scope ? REACH[scope] : answer === 'always' ? 'always' : ''
  return rule && reach ? `${reach} (${rule})` : reach
}

const planAnswer = (answer: string): string => {
  if (isPlanApproval(answer)) return 'approved'
  return answer === KEEP_PLANNING ? 'not approved yet' : answer
}

const AUTO = {
  yolo: 'auto-approval of this chat was on',
  rule: 'it was allowed before',
  config: 'a rule of the configuration allows it',
  hook: 'a hook allowed it',
  off: 'approvals are off',
  task: 'the settings of scheduled tasks allow it',
} as const

const verb = (by: string | undefined, word: string): string =>
  by === undefined ? word : `${by} ${word.toLowerCase()}`

export const decisionSentence = (decision: Decision): DecisionSentence => {
  const { kind, what, answer, reason, by, auto } = decision
  if (kind === 'approval') {
    const subject = { what, isCode: true }
    if (reason) return { ...subject, lead: 'Approval needed:', end: `— ${UNANSWERED[reason]}` }
    if (answer === 'deny') return { ...subject, lead: verb(by, 'Denied'), end: '' }
    if (auto) return { ...subject, lead: 'Allowed', end: `without a question: ${AUTO[auto]}` }
    return { ...subject, lead: verb(by, 'Allowed'), end: reachOf(decision) }
  }
  const outcome = kind === 'plan' ? planAnswer(answer) : answer
  const end = reason ? UNANSWERED[reason] : by === undefined ? outcome : `${outcome} (${by})`
  return { lead: kind === 'plan' ? 'Plan:' : 'Asked:', what, isCode: false, end: `— ${end}` }
}
