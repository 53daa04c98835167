/**
 * Decides about the approval requests of a turn: allows what the configuration, the session or a grant covers, and asks about
 * the rest.
 */
import { shownReason } from '../../agent/reasons.ts'
import { isAllowed } from '../../agent/shell/labels.ts'
import { suggestedPrefix } from '../../agent/shell/prefix.ts'
import type { NetworkTarget } from '../../agent/tool-services.ts'
import type { ApprovalRequest } from '../../agent/types.ts'
import { redactKnown } from '../../base/redact/redact.ts'
import { Unapproved } from '../../base/unapproved.ts'
import { visibleText } from '../../base/visible.ts'
import type { ProfileConfig } from '../../profiles/config.ts'
import type { AutoApproval } from '../../schema/decision.ts'
import type { Approval, ApprovalChoice, Rule, TextSpan } from '../../schema/question.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import type { Asker } from '../questions.ts'
import { isLimitKey, ruleText } from './allow-rules.ts'
import { anyId, grantId, type Grants, isCovered, networkGrantId, ruleId } from './grants.ts'
import type { TurnScope } from './turn-scope.ts'

/** How long an approval waits for an answer, in milliseconds. 0 waits forever. */
export const approvalTimeoutMs = ({ approvals }: ProfileConfig): number =>
  approvals.gateway_timeout * 1_000

/** A command as shown for approval: known secrets masked, invisible characters made visible, nothing else changed. */
const visible = (text: string): string => visibleText(redactKnown(text))

/** Marks in the command as it is shown. Empty where its parts cannot be shown one by one, as with a secret across them. */
const shownMarks = (command: string, marks: readonly TextSpan[]): TextSpan[] => {
  const moved: TextSpan[] = []
  let text = ''
  let from = 0
  for (const { start, end } of marks) {
    text += visible(command.slice(from, start))
    const at = text.length
    text += visible(command.slice(start, end))
    moved.push({ start: at, end: text.length })
    from = end
  }
  return text + visible(command.slice(from)) === visible(command) ? moved : []
}

/** The prefix rule to suggest. None for a command that is not shown verbatim. */
const suggestion = ({
  command,
  patternKeys,
  isControl,
  choices,
  lines,
  network,
  any,
}: ApprovalRequest): { suggested_rule?: string } => {
  const isVerbatim = visible(command) === command && (choices?.includes('always') ?? true)
  if (network || any || isControl || !isVerbatim) return {}
  const words = suggestedPrefix(lines?.length === 1 ? (lines[0] ?? '') : command, patternKeys)
  return words ? { suggested_rule: ruleText(words) } : {}
}

const shownTarget = ({ host, port, isPrivate, address }: NetworkTarget): Approval['network'] => ({
  host,
  port,
  ...(isPrivate && { private: true as const }),
  ...(address !== undefined && { address }),
})

export class Approver {
  readonly #scope: TurnScope
  readonly #sessions: Sessions
  readonly #grants: Grants
  readonly #questions: Asker
  /** Labels and ids that the user allowed for this session; stored in its journal. */
  readonly #allowed: Set<string>

  constructor(scope: TurnScope, sessions: Sessions, grants: Grants, questions: Asker) {
    this.#scope = scope
    this.#sessions = sessions
    this.#grants = grants
    this.#questions = questions
    const { approved_patterns: labels } = scope.meta
    this.#allowed = new Set(Array.isArray(labels) ? labels.map(String) : [])
  }

  /** Unattended, throws `Unapproved` instead of denying. */
  async approve(ask: ApprovalRequest): Promise<ApprovalChoice> {
    const choice = await this.#decide(ask)
    if (choice === 'deny' && this.#scope.unattended) throw new Unapproved('task')
    return choice
  }

  /**
   * What commands may reach without a question, also when their turn has ended and no one can be asked. By an earlier answer
   * or a setting, read anew each time.
   */
  allowsNetwork(key: string): boolean {
    const { home, sessionId, unattended } = this.#scope
    return (
      this.#isNetworkAllowed(key) ||
      (!unattended &&
        (home.config().approvals.mode === 'off' ||
          this.#sessions.head(sessionId).meta.yolo === true))
    )
  }

  async #decide(ask: ApprovalRequest): Promise<ApprovalChoice> {
    const { sessionId, unattended } = this.#scope
    const { allowedBy, isControl, leavesSandbox, network } = ask
    const needsUser = isControl || leavesSandbox
    // A rule about a call, or a hook, is not about what only the user may allow.
    if (allowedBy && !needsUser && ask.rule === undefined && !network) {
      this.#note(ask, allowedBy)
      return 'once'
    }
    // Auto-approval is for commands where they run, not for leaving that place. Unattended, no earlier answer is either.
    if (needsUser) return unattended ? 'deny' : this.#apply(ask)
    // A rule that asks is more specific than auto-approval of a whole chat.
    if (ask.rule !== undefined) return this.#apply(ask)
    if (unattended || this.#sessions.head(sessionId).meta.yolo !== true) return this.#apply(ask)
    this.#note(ask, 'yolo')
    return 'once'
  }

  /** `once` runs this call only; `session` and `always` are remembered before it runs. */
  async #apply(ask: ApprovalRequest): Promise<ApprovalChoice> {
    const config = this.#scope.home.config()
    // Commands that are always blocked never get here: the tool refuses them before it asks for approval.
    const mustAsk = ask.isControl === true || ask.rule !== undefined
    if (!mustAsk && !ask.leavesSandbox && config.approvals.mode === 'off') {
      this.#note(ask, 'off')
      return 'once'
    }
    const labels = [...config.command_allowlist, ...this.#allowed]
    const isListed =
      ask.patternKeys.length > 0 && ask.patternKeys.every(label => isAllowed(label, labels))
    if (!mustAsk && (isListed || this.#isGranted(ask))) {
      this.#note(ask, 'rule')
      return 'once'
    }
    let rule: Rule | undefined
    const choice = await this.#ask(ask, approvalTimeoutMs(config), answer => {
      rule = answer
    })
    // Control files and rules offer `once` only: any longer grant counts for this call alone.
    if (mustAsk) return choice === 'deny' ? 'deny' : 'once'
    if (choice === 'session' || choice === 'always') this.#grant(ask, choice, rule)
    return choice
  }

  async #ask(
    ask: ApprovalRequest,
    timeoutMs: number,
    onRule: (rule: Rule) => void,
  ): Promise<ApprovalChoice> {
    const { unattended, workspace } = this.#scope
    const marks = shownMarks(ask.command, ask.marks ?? [])
    const question = {
      ...this.#display(ask),
      ...(marks.length > 0 && { marks }),
      ...(ask.diff !== undefined && { diff: visible(ask.diff) }),
      ...(ask.any && { any: { of: ask.any.of, name: visible(ask.any.name) } }),
      ...((ask.isControl || ask.leavesSandbox) && { needs_owner: true as const }),
      ...(ask.choices && { choices: [...ask.choices] }),
      ...suggestion(ask),
    }
    if (!unattended)
      return this.#questions.approve(question, timeoutMs, { onRule, signal: ask.signal })
    const choice = await unattended.ask({
      command: question.command,
      patternKeys: question.pattern_keys,
      description: question.description,
      cwd: question.cwd ?? workspace,
    })
    if (choice !== 'deny') this.#questions.noteAllowed(question, 'task')
    return choice
  }

  #note(ask: ApprovalRequest, auto: AutoApproval): void {
    this.#questions.noteAllowed(this.#display(ask), auto)
  }

  /** What is shown of a request, whether it is asked or allowed. */
  #display(ask: ApprovalRequest) {
    return {
      session_id: this.#scope.sessionId,
      command: visible(ask.command),
      pattern_key: ask.patternKeys[0] ?? '',
      pattern_keys: ask.patternKeys,
      description: visible(ask.description),
      ...(ask.reasons && { reasons: ask.reasons.map(each => shownReason(each, visible)) }),
      cwd: visible(ask.cwd),
      ...(ask.runsIn && { runs_in: ask.runsIn }),
      ...(ask.network && { network: shownTarget(ask.network) }),
      ...(ask.waitingCall !== undefined && { call_id: ask.waitingCall }),
    }
  }

  #isNetworkAllowed(key: string): boolean {
    const { home, sessionId, workspace } = this.#scope
    const { approved_patterns: labels } = this.#sessions.head(sessionId).meta
    return (
      home.config().command_allowlist.includes(key) ||
      (Array.isArray(labels) && labels.includes(key)) ||
      this.#grants.has(home.name, [networkGrantId(key, workspace)])
    )
  }

  /** Whether the user allowed exactly this before, for this session or permanently. */
  #isGranted(ask: ApprovalRequest): boolean {
    const { home, workspace } = this.#scope
    if (ask.network) return this.#isNetworkAllowed(ask.patternKeys.join())
    if (ask.patternKeys.some(isLimitKey)) return this.#allowed.has(grantId(ask))
    return isCovered(
      ask,
      workspace,
      ids => ids.some(id => this.#allowed.has(id)) || this.#grants.has(home.name, ids),
    )
  }

  #grant(ask: ApprovalRequest, until: 'session' | 'always', rule: Rule | undefined): void {
    const { home, workspace } = this.#scope
    const any = rule?.any ? ask.any : undefined
    if (until === 'session' || rule?.scope === 'session') {
      this.#allowForSession(ask, rule)
    } else if (ask.network) {
      const [key = ''] = ask.patternKeys
      this.#grants.add(home.name, {
        id: networkGrantId(key, workspace),
        command: visible(key),
        cwd: workspace,
        scope: 'workspace',
        reasons: [key],
      })
    } else if (any) {
      this.#grants.add(home.name, {
        id: anyId(any),
        command: visible(any.name),
        cwd: ask.cwd,
        scope: 'profile',
        any: any.of,
        reasons: ask.patternKeys,
      })
    } else {
      const scope = rule && !ask.any ? rule.scope : undefined
      this.#grants.add(home.name, {
        id: rule && !ask.any ? ruleId(ask, rule, workspace) : grantId(ask),
        command: visible(rule?.words ? ruleText(rule.words) : ask.command),
        cwd: scope === 'workspace' ? workspace : ask.cwd,
        ...(scope && { scope }),
        reasons: ask.patternKeys,
      })
    }
  }

  #allowForSession(ask: ApprovalRequest, rule: Rule | undefined): void {
    const { sessionId, workspace } = this.#scope
    const idOf = (): string => {
      if (rule?.any && ask.any) return anyId(ask.any)
      return rule?.words ? ruleId(ask, { ...rule, scope: 'session' }, workspace) : grantId(ask)
    }
    const isByKey = ask.network || ask.patternKeys.every(isLimitKey)
    for (const key of isByKey ? ask.patternKeys : [idOf()]) this.#allowed.add(key)
    this.#sessions.append(sessionId, [
      { t: 'meta', patch: { approved_patterns: [...this.#allowed] } },
    ])
  }
}
