/** Binds the approval policy to a turn: its session, home, grants and questions. */
import type { AgentRequest, ApprovalRequest } from '../../agent/types.ts'
import { Unapproved } from '../../base/unapproved.ts'
import { visibleText } from '../../base/visible.ts'
import type { AutoApproval } from '../../schema/decision.ts'
import type { Sessions } from '../../sessions/types.ts'
import type { Questions } from '../questions.ts'
import { anyId, grantId, isCovered, type Grants, networkGrantId, ruleId } from './grants.ts'
import { createNetworkAllowance } from './network-allowance.ts'
import type { TurnScope } from './turn-scope.ts'
import { createApprovalPolicy, type ApprovalPolicyOptions, shownAsk } from './approval-policy.ts'
import { isLimitKey, ruleText } from './allow-rules.ts'

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
    noteAllowed({ session_id: sessionId, ...shownAsk(ask, shown) }, auto)
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
      if (ask.patternKeys.some(isLimitKey)) return allowed.has(grantId(ask))
      return isCovered(
        ask,
        workspace,
        ids => ids.some(id => allowed.has(id)) || grants.has(home.name, ids),
      )
    },
    grant(ask, until, rule) {
      const any = rule?.any ? ask.any : undefined
      if (until === 'session' || rule?.scope === 'session') {
        const keys =
          ask.network || ask.patternKeys.every(isLimitKey)
            ? ask.patternKeys
            : [
                any
                  ? anyId(any)
                  : rule?.words
                    ? ruleId(ask, { ...rule, scope: 'session' }, workspace)
                    : grantId(ask),
              ]
        for (const key of keys) allowed.add(key)
        return sessions.append(sessionId, [
          { t: 'meta', patch: { approved_patterns: [...allowed] } },
        ])
      }
      if (ask.network) {
        const [key = ''] = ask.patternKeys
        return grants.add(home.name, {
          id: networkGrantId(key, workspace),
          command: shown(key),
          cwd: workspace,
          scope: 'workspace',
          reasons: [key],
        })
      }
      if (any)
        return grants.add(home.name, {
          id: anyId(any),
          command: shown(any.name),
          cwd: ask.cwd,
          scope: 'profile',
          any: any.of,
          reasons: ask.patternKeys,
        })
      const scope = rule && !ask.any ? rule.scope : undefined
      grants.add(home.name, {
        id: rule && !ask.any ? ruleId(ask, rule, workspace) : grantId(ask),
        command: shown(rule?.words ? ruleText(rule.words) : ask.command),
        cwd: scope === 'workspace' ? workspace : ask.cwd,
        ...(scope && { scope }),
        reasons: ask.patternKeys,
      })
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
  /** A rule about a call, or a hook, is not about what only the user may allow. */
  const allowerOf = ({ allowedBy, isControl, leavesSandbox, rule, network }: ApprovalRequest) =>
    isControl || leavesSandbox || rule !== undefined || network ? undefined : allowedBy
  // Only the user may allow access to control files: unattended, it is denied.
  const decide = async (ask: ApprovalRequest) => {
    const allower = allowerOf(ask)
    if (allower) {
      note(ask, allower)
      return 'once'
    }
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
