/** A message to a command-line session of the list that was never opened here. */
import type { HostSessions } from '../sessions/host-db/host-sessions.ts'
import type { HostHome } from '../sessions/host-db/state-db.ts'
import type { Hub } from '../http/hub.ts'

type Services = { hostSessions: HostSessions; hub: Hub }

/** Imports it first, as the page does when it is opened. An id that neither store has is left to the caller. */
export const claimSession = (
  { hostSessions, hub }: Services,
  home: HostHome,
  sessionId: string,
): void => {
  if (!hostSessions.claim(home, sessionId)) return
  // Its messages have other ids now, whatever becomes of the request.
  hub.publish(`session:${sessionId}`, { type: 'reset', data: {} })
}
