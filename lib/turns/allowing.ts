/** Binds the policy of approvals to a turn: what its session and home allow, and who is asked about the rest. */
import type { AgentRequest, ApprovalAsk } from '../agent/types.ts'
import { visibleText } from '../visible.ts'
import type { Sessions } from '../sessions/types.ts'
import { grantId, type Grants } from './grants.ts'
import type { TurnPlace } from './place.ts'
import { createPolicy, type PolicyDeps } from './policy.ts'

/** Keys that name one tool or one limit, not a kind of command. */
const isOwnKey = (key: string): boolean => /^(?:mcp|budget): /.test(key)

export type Allowing = {
  sessions: Pick<Sessions, 'append' | 'head'>
  redactKnown: (text: string) => string
  grants: Grants
  ask: PolicyDeps['ask']
}

export const approver = (
  { sessionId, home, workspace, meta, unattended }: TurnPlace,
  { sessions, redactKnown, ask, grants }: Allowing,
): AgentRequest['approve'] => {
  const allowed = new Set(
    Array.isArray(meta.approved_patterns) ? meta.approved_patterns.map(String) : [],
  )
  const shown = (text: string) => visibleText(redactKnown(text))
  const policy = createPolicy({
    sessionId,
    config: () => home.values(),
    sessionAllowed: () => [...allowed],
    isGranted: ask =>
      allowed.has(grantId(ask)) || (!ask.patternKeys.some(isOwnKey) && grants.has(home.name, ask)),
    grant(ask, until) {
      // Another program's tool is one thing whatever it is called with; a command is only itself.
      const isTool = ask.patternKeys.every(isOwnKey)
      for (const key of isTool ? ask.patternKeys : [grantId(ask)]) allowed.add(key)
      sessions.append(sessionId, [{ t: 'meta', patch: { approved_patterns: [...allowed] } }])
      if (until === 'session') return
      if (!isTool) return grants.add(home.name, ask, shown(ask.command))
      const { command_allowlist: before } = home.config.read()
      const list = Array.isArray(before) ? before : []
      home.config.edit(['command_allowlist'], [...new Set([...list, ...ask.patternKeys])])
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
    shown,
  })
  // Below this nothing changes: what the hardline floor refuses is refused before anybody is asked.
  // What decides about the agent is for a person alone: where none watches, it is denied.
  return async (ask: ApprovalAsk) => {
    if (ask.isControl) return unattended ? 'deny' : policy(ask)
    return !unattended && sessions.head(sessionId).meta.yolo === true ? 'once' : policy(ask)
  }
}
