/** Binds the policy of approvals to a turn: what its session and home allow, and who is asked about the rest. */
import type { AgentRequest, ApprovalAsk } from '../agent/types.ts'
import { visibleText } from '../visible.ts'
import type { Sessions } from '../sessions/types.ts'
import type { TurnPlace } from './place.ts'
import { createPolicy, type PolicyDeps } from './policy.ts'

export type Allowing = {
  sessions: Pick<Sessions, 'append' | 'head'>
  redactKnown: (text: string) => string
  ask: PolicyDeps['ask']
}

export const approver = (
  { sessionId, home, workspace, meta, unattended }: TurnPlace,
  { sessions, redactKnown, ask }: Allowing,
): AgentRequest['approve'] => {
  const allowed = new Set(
    Array.isArray(meta.approved_patterns) ? meta.approved_patterns.map(String) : [],
  )
  const policy = createPolicy({
    sessionId,
    config: () => home.values(),
    allowAlways(labels) {
      const { command_allowlist: before } = home.config.read()
      const list = Array.isArray(before) ? before : []
      home.config.edit(['command_allowlist'], [...new Set([...list, ...labels])])
    },
    sessionAllowed: () => [...allowed],
    allowForSession(labels) {
      for (const label of labels) allowed.add(label)
      sessions.append(sessionId, [{ t: 'meta', patch: { approved_patterns: [...allowed] } }])
    },
    ask: unattended
      ? async question =>
          unattended.ask({
            command: question.command,
            patternKeys: question.pattern_keys,
            description: question.description,
            cwd: question.cwd ?? workspace,
          })
      : ask,
    shown: text => visibleText(redactKnown(text)),
  })
  // Below this nothing changes: what the hardline floor refuses is refused before anybody is asked.
  return async (ask: ApprovalAsk) =>
    !unattended && sessions.head(sessionId).meta.yolo === true ? 'once' : policy(ask)
}
