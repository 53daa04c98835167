/** Binds the approval policy to a turn: its session, home, grants and questions. */
import type { AgentRequest, ApprovalRequest } from '../agent/types.ts'
import { Unapproved } from '../base/unapproved.ts'
import { visibleText } from '../base/visible.ts'
import type { AutoApproval } from '../schema/decision.ts'
import type { Sessions } from '../sessions/types.ts'
import type { Questions } from '../turns/questions.ts'
import { grantId, isCovered, type Grants, networkGrantId, ruleId } from './grants.ts'
import { createNetworkAllowance } from './network-allowance.ts'
import type { TurnScope } from './turn-scope.ts'
import { createApprovalPolicy, type ApprovalPolicyOptions } from './approval-policy.ts'
import { isNonCommandKey, ruleText } from './allow-rules.ts'

export type ApproverOptions = {
  sessions: Pick<Sessions, 'append' | 'head'>
  redactKnown: (text: string) => string
  grants: Grants
  ask: ApprovalPolicyOptions['ask']
  noteAllowed: Questions['noteAllowed']
}

export const createApprover = (
  { sessionId, home, workspace, meta, unattended }: TurnScope,
  { sessions, redactKnown, ask, grants, noteAllowed }: ApproverOptions,
): AgentRequest['approve'] => {
  const allowed = new Set(
    Array.isArray(meta.approved_patterns) ? meta.approved_patterns.map(String) : [],
  )
  const shown = (text: string) => visibleText(redactKnown(text))
  const note = (ask: ApprovalRequest, auto: AutoApproval): void =>
    noteAllowed(
      {
        session_id: sessionId,
        command: shown(ask.command),
        pattern_key: ask.patternKeys[0] ?? '',
        pattern_keys: ask.patternKeys,
        description: shown(ask.description),
        cwd: shown(ask.cwd),
        ...(ask.waitingCall !== undefined && { call_id: ask.waitingCall }),
      },
      auto,
    )
  const isNetworkAllowed = createNetworkAllowance(
    { sessionId, home, workspace },
    { sessions, grants },
  )
  const policy = createApprovalPolicy({
    sessionId,
    config: home.settings,
    noteAllowed: note,
    sessionAllowed: () => [...allowed],
    isGranted(ask) {
      if (ask.network) return isNetworkAllowed(ask.patternKeys.join())
      if (ask.patternKeys.some(isNonCommandKey)) return allowed.has(grantId(ask))
      return isCovered(
        ask,
        workspace,
        ids => ids.some(id => allowed.has(id)) || grants.has(home.name, ids),
      )
    },
    grant(ask, until, rule) {
      // A tool or budget is allowed by its key, with any arguments; a command only verbatim.
      if (ask.network && until === 'always') {
        const [key = ''] = ask.patternKeys
        return grants.add(home.name, {
          id: networkGrantId(key, workspace),
          command: shown(key),
          cwd: workspace,
          scope: 'workspace',
          reasons: [key],
        })
      }
      const isTool = ask.patternKeys.every(isNonCommandKey)
      const isShort = until === 'session' || rule?.scope === 'session'
      const command = shown(rule?.words ? ruleText(rule.words) : ask.command)
      if (!isTool && !isShort) {
        const scope = rule && rule.scope !== 'session' ? rule.scope : undefined
        return grants.add(home.name, {
          id: rule ? ruleId(ask, rule, workspace) : grantId(ask),
          command,
          cwd: scope === 'workspace' ? workspace : ask.cwd,
          ...(scope && { scope }),
          reasons: ask.patternKeys,
        })
      }
      const keys = rule?.words
        ? [ruleId(ask, { ...rule, scope: 'session' }, workspace)]
        : [grantId(ask)]
      for (const key of isTool ? ask.patternKeys : keys) allowed.add(key)
      sessions.append(sessionId, [{ t: 'meta', patch: { approved_patterns: [...allowed] } }])
      if (isShort) return
      const { command_allowlist: before } = home.config.read()
      const list = Array.isArray(before) ? before : []
      home.config.edit(['command_allowlist'], [...new Set([...list, ...ask.patternKeys])])
    },
    ask: unattended
      ? async question => {
          const choice = await unattended.ask({
            command: question.command,
            patternKeys: question.pattern_keys,
            description: question.description,
            cwd: question.cwd ?? workspace,
          })
          if (choice !== 'deny') noteAllowed(question, 'task')
          return choice
        }
      : ask,
    shown,
  })
  // Only the user may allow access to control files: unattended, it is denied.
  const decide = async (ask: ApprovalRequest) => {
    if (ask.isControl) return unattended ? 'deny' : policy(ask)
    // Auto-approval is for commands where they run, not for leaving that place. Unattended, no earlier answer is either.
    if (ask.leavesSandbox) return unattended ? 'deny' : policy(ask)
    // A rule that asks is more specific than auto-approval of a whole chat.
    if (ask.rule !== undefined) return policy(ask)
    if (unattended || sessions.head(sessionId).meta.yolo !== true) return policy(ask)
    note(ask, 'yolo')
    return 'once'
  }
  return async ask => {
    const choice = await decide(ask)
    if (choice === 'deny' && unattended) throw new Unapproved('task')
    return choice
  }
}
