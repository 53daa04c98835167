/** A message to a command-line session of the list that was never opened here. */
import type { Ctx } from '../lib/context.ts'

/** Imports it first, as the page does when it is opened. An id that neither store has is left to the caller. */
export const claimSession = ({ app, home }: Ctx, sessionId: string): void => {
  if (!app.hostSessions.claim(home, sessionId)) return
  // Its messages have other ids now, whatever becomes of the request.
  app.hub.publish(`session:${sessionId}`, { type: 'reset', data: {} })
}
