/** Who may say yes: what the configuration and the session allow already, else a person. */
import { asObject, asStrings } from '../base/json.ts'
import { isAllowed } from '../agent/shell/labels.ts'
import { suggestedPrefix } from '../agent/shell/prefix.ts'
import type { ApprovalRequest } from '../agent/types.ts'
import type { Approval, ApprovalChoice } from '../schema/question.ts'
import type { Rule } from '../schema/question.ts'
import { ruleText } from './allow-rules.ts'

export type ApprovalPolicyOptions = {
  sessionId: string
  /** `approvals.mode`, `approvals.gateway_timeout`, `command_allowlist` of the session's home, read at each call. */
  config: () => Record<string, unknown>
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

const DEFAULT_WAIT_S = 300

/** Seconds a person has; `approvals.gateway_timeout`, else 300. 0 waits for ever. */
export const approvalTimeoutMs = (config: Record<string, unknown>): number => {
  const seconds = asObject(config.approvals).gateway_timeout
  return (typeof seconds === 'number' && seconds >= 0 ? seconds : DEFAULT_WAIT_S) * 1_000
}

/**
 * YAML reads an unquoted `off` as false: both spellings switch asking off (agent-home §2.1).
 * The hardline floor is below this: the tool refuses it without asking anybody.
 */
const isOff = (mode: unknown): boolean => mode === 'off' || mode === false

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
    if (!ask.isControl && isOff(asObject(config.approvals).mode)) return 'once'
    const allowed = [...asStrings(config.command_allowlist), ...deps.sessionAllowed()]
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
