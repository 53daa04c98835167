/** Message queue. The server stores messages written during a turn and sends them after it succeeds. */
import { signal } from '@preact/signals'
import { ApiError, SEND_MS } from '../../api.ts'
import type { Platform } from '../../platform.ts'

export const createQueue = ({ api }: Pick<Platform, 'api'>) => {
  const input = (session: string, message: string, files: readonly string[]) => ({
    session_id: session,
    message,
    attachments: [...files],
  })
  const add = (
    session: string,
    text: string,
    files: readonly string[],
    named: { client_message_id?: string } = {},
  ) => {
    // On a connection that has stalled, a message with an id is kept and sent again.
    const { client_message_id: id } = named
    const limit = id ? { signal: AbortSignal.timeout(SEND_MS), key: `queue-${id}` } : {}
    return api('POST /api/queue/add', { ...input(session, text, files), ...named }, limit)
  }
  return {
    /** Stream id of the side question whose card is open on this page. */
    aside: signal(''),
    add,
    /** Steers the running turn; queues the message if the turn has just ended. */
    async steer(session: string, text: string, files: readonly string[]) {
      try {
        await api('POST /api/chat/steer', input(session, text, files))
      } catch (error) {
        if (!(error instanceof ApiError) || error.status !== 409) throw error
        await add(session, text, files)
      }
    },
  }
}

export type Queue = ReturnType<typeof createQueue>
