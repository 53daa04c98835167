/** The approval policy: allows what the configuration, the session or a grant covers, and asks about the rest. */
import { shownReason } from '../../agent/reasons.ts'
import { isAllowed } from '../../agent/shell/labels.ts'
import { spansIn } from './shown-spans.ts'
import { suggestedPrefix } from '../../agent/shell/prefix.ts'
import type { NetworkTarget } from '../../agent/tool-services.ts'
import type { ApprovalRequest } from '../../agent/types.ts'
import type { Approval, ApprovalChoice } from '../../schema/question.ts'
import type { Rule } from '../../schema/question.ts'
import type { ProfileConfig } from '../../profiles/config.ts'
import { ruleText } from './allow-rules.ts'

export type ApprovalPolicyOptions = {
  sessionId: string
  /** `approvals.mode`, `approvals.gateway_timeout`, `command_allowlist` of the session's home, read at each call. */
  config: () => Pick<ProfileConfig, 'approvals' | 'command_allowlist'>
  /** Labels the user allowed for this session; stored in its journal. */
  sessionAllowed: () => string[]
  /** Whether the user allowed exactly this before, for this session or permanently. */
  isGranted: (ask: ApprovalRequest) => boolean
  /** Called when it is allowed without a question. */
  noteAllowed: (ask: ApprovalRequest, auto: 'off' | 'rule') => void
  grant: (ask: ApprovalRequest, until: 'session' | 'always', rule: Rule | undefined) => void
  ask: (
    ask: Omit<Approval, 'kind' | 'approval_id' | 'requested_at'>,
    timeoutMs: number,
    options?: { onRule: (rule: Rule) => void; signal: AbortSignal | undefined },
  ) => Promise<ApprovalChoice>
  /** A command as shown for approval: known secrets masked, invisible characters made visible, nothing else changed. */
  shown: (text: string) => string
}

/** How long an approval waits for an answer, in milliseconds. 0 waits forever. */
export const approvalTimeoutMs = ({ approvals }: Pick<ProfileConfig, 'approvals'>): number =>
  approvals.gateway_timeout * 1_000

/** The prefix rule to suggest. None for a command that is not shown verbatim. */
const suggestion = (
  { command, patternKeys, isControl, choices, lines, network, any }: ApprovalRequest,
  shown: (text: string) => string,
): { suggested_rule?: string } => {
  const isVerbatim = shown(command) === command && (choices?.includes('always') ?? true)
  if (network || any || isControl || !isVerbatim) return {}
  const words = suggestedPrefix(lines?.length === 1 ? (lines[0] ?? '') : command, patternKeys)
  return words ? { suggested_rule: ruleText(words) } : {}
}

const toShown = ({ host, port, isPrivate, address }: NetworkTarget): Approval['network'] => ({
  host,
  port,
  ...(isPrivate && { private: true as const }),
  ...(address !== undefined && { address }),
})

/** What is shown of a request, whether it is asked or allowed. */
export const shownAsk = (ask: ApprovalRequest, shown: (text: string) => string) => ({
  command: shown(ask.command),
  pattern_key: ask.patternKeys[0] ?? '',
  pattern_keys: ask.patternKeys,
  description: shown(ask.description),
  ...(ask.reasons && { reasons: ask.reasons.map(each => shownReason(each, shown)) }),
  cwd: shown(ask.cwd),
  ...(ask.runsIn && { runs_in: ask.runsIn }),
  ...(ask.network && { network: toShown(ask.network) }),
  ...(ask.waitingCall !== undefined && { call_id: ask.waitingCall }),
})

/** `once` runs this call only; `session` and `always` are remembered before it runs. */
export const createApprovalPolicy =
  (deps: ApprovalPolicyOptions) =>
  async (ask: ApprovalRequest): Promise<ApprovalChoice> => {
    const config = deps.config()
    // Commands that are always blocked never get here: the tool refuses them before it asks for approval.
    const mustAsk = ask.isControl === true || ask.rule !== undefined
    if (!mustAsk && !ask.leavesSandbox && config.approvals.mode === 'off') {
      deps.noteAllowed(ask, 'off')
      return 'once'
    }
    const allowed = [...config.command_allowlist, ...deps.sessionAllowed()]
    const isCovered =
      ask.patternKeys.length > 0 && ask.patternKeys.every(label => isAllowed(label, allowed))
    if (!mustAsk && (isCovered || deps.isGranted(ask))) {
      deps.noteAllowed(ask, 'rule')
      return 'once'
    }
    const marks = spansIn(ask.command, ask.marks ?? [], deps.shown)
    let rule: Rule | undefined
    const choice = await deps.ask(
      {
        session_id: deps.sessionId,
        ...shownAsk(ask, deps.shown),
        ...(marks.length > 0 && { marks }),
        ...(ask.diff !== undefined && { diff: deps.shown(ask.diff) }),
        ...(ask.any && { any: { of: ask.any.of, name: deps.shown(ask.any.name) } }),
        ...((ask.isControl || ask.leavesSandbox) && { needs_owner: true as const }),
        ...(ask.choices && { choices: [...ask.choices] }),
        ...suggestion(ask, deps.shown),
      },
      approvalTimeoutMs(config),
      {
        onRule(given) {
          rule = given
        },
        signal: ask.signal,
      },
    )
    // Control files and rules offer `once` only: any longer grant counts for this call alone.
    if (mustAsk) return choice === 'deny' ? 'deny' : 'once'
    if (choice === 'session' || choice === 'always') deps.grant(ask, choice, rule)
    return choice
  }
