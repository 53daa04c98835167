/** Who may say yes: what the configuration and the session allow already, else a person. */
import { isAllowed } from '../agent/shell/labels.ts'
import { suggestedPrefix } from '../agent/shell/prefix.ts'
import type { ApprovalRequest } from '../agent/types.ts'
import type { Approval, ApprovalChoice } from '../schema/question.ts'
import type { Rule } from '../schema/question.ts'
import type { ProfileConfig } from '../profiles/config.ts'
import { ruleText } from './allow-rules.ts'

export type ApprovalPolicyOptions = {
  sessionId: string
  /** `approvals.mode`, `approvals.gateway_timeout`, `command_allowlist` of the session's home, read at each call. */
  config: () => Pick<ProfileConfig, 'approvals' | 'command_allowlist'>
  /** Labels the person allowed for this session; kept in its journal. */
  sessionAllowed: () => string[]
  /** The person has allowed exactly this before, in this session or for good. */
  isGranted: (ask: ApprovalRequest) => boolean
  grant: (ask: ApprovalRequest, until: 'session' | 'always', rule: Rule | undefined) => void
  ask: (
    ask: Omit<Approval, 'kind' | 'approval_id' | 'requested_at'>,
    timeoutMs: number,
    onRule?: (rule: Rule) => void,
  ) => Promise<ApprovalChoice>
  /** A command as a person decides about it: known secrets masked, nothing else hidden, hidden characters visible. */
  shown: (text: string) => string
}

/** How long an approval waits for an answer, in milliseconds. 0 waits forever. */
export const approvalTimeoutMs = ({ approvals }: Pick<ProfileConfig, 'approvals'>): number =>
  approvals.gateway_timeout * 1_000

/** A command that is not shown as it is cannot be named by its words either. */
const suggestion = (
  { command, patternKeys, isControl, choices }: ApprovalRequest,
  shown: (text: string) => string,
): { suggested_rule?: string } => {
  if (isControl || !(choices?.includes('always') ?? true) || shown(command) !== command) return {}
  const words = suggestedPrefix(command, patternKeys)
  return words ? { suggested_rule: ruleText(words) } : {}
}

/** `once` runs this call only; `session` and `always` are remembered before it runs. */
export const createApprovalPolicy =
  (deps: ApprovalPolicyOptions) =>
  async (ask: ApprovalRequest): Promise<ApprovalChoice> => {
    const config = deps.config()
    // Commands that are always blocked never get here: the tool refuses them before it asks for approval.
    if (!ask.isControl && config.approvals.mode === 'off') return 'once'
    const allowed = [...config.command_allowlist, ...deps.sessionAllowed()]
    const isCovered =
      ask.patternKeys.length > 0 && ask.patternKeys.every(label => isAllowed(label, allowed))
    if (!ask.isControl && (isCovered || deps.isGranted(ask))) return 'once'
    let rule: Rule | undefined
    const choice = await deps.ask(
      {
        session_id: deps.sessionId,
        command: deps.shown(ask.command),
        pattern_key: ask.patternKeys[0] ?? '',
        pattern_keys: ask.patternKeys,
        description: deps.shown(ask.description),
        cwd: deps.shown(ask.cwd),
        ...(ask.diff !== undefined && { diff: deps.shown(ask.diff) }),
        ...(ask.choices && { choices: [...ask.choices] }),
        ...suggestion(ask, deps.shown),
      },
      approvalTimeoutMs(config),
      given => {
        rule = given
      },
    )
    // Only what was on offer counts: a longer answer stands for this one time.
    if (ask.isControl) return choice === 'deny' ? 'deny' : 'once'
    if (choice === 'session' || choice === 'always') deps.grant(ask, choice, rule)
    return choice
  }
