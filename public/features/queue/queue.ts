/** Messages written while a turn runs: kept by the service, which sends them when the turn has ended well. */
import { signal } from '@preact/signals'
import { ApiError } from '../../api.ts'
import type { Platform } from '../../platform.ts'

export const createQueue = ({ api }: Pick<Platform, 'api'>) => {
  const input = (session: string, message: string, files: readonly string[]) => ({
    session_id: session,
    message,
    attachments: [...files],
  })
  const add = (session: string, text: string, files: readonly string[]) =>
    api('POST /api/queue/add', input(session, text, files))
  return {
    /** The stream of the side question that was asked here and stands open. */
    aside: signal(''),
    add,
    /** Into the running turn; when it has just ended, behind it. */
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
