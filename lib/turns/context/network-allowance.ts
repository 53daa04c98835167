/** What commands may reach without a question: by an answer that was given before, or a setting. Read anew each time. */
import type { Sessions } from '../../sessions/types.ts'
import { networkGrantId, type Grants } from './grants.ts'
import type { TurnScope } from './turn-scope.ts'

export type NetworkAllowance = (key: string) => boolean

export const createNetworkAllowance =
  (
    { sessionId, home, workspace }: Pick<TurnScope, 'sessionId' | 'home' | 'workspace'>,
    { sessions, grants }: { sessions: Pick<Sessions, 'head'>; grants: Pick<Grants, 'has'> },
  ): NetworkAllowance =>
  key => {
    const { approved_patterns: ofChat } = sessions.head(sessionId).meta
    return (
      home.settings().command_allowlist.includes(key) ||
      (Array.isArray(ofChat) && ofChat.includes(key)) ||
      grants.has(home.name, [networkGrantId(key, workspace)])
    )
  }

/** The same for programs that still run when their turn has ended: no one can be asked then. */
export const createUnaskedAllowance = (
  { sessionId, home, workspace, unattended }: TurnScope,
  deps: Parameters<typeof createNetworkAllowance>[1],
): NetworkAllowance => {
  const isAllowed = createNetworkAllowance({ sessionId, home, workspace }, deps)
  return key =>
    isAllowed(key) ||
    (!unattended &&
      (home.settings().approvals.mode === 'off' ||
        deps.sessions.head(sessionId).meta.yolo === true))
}
