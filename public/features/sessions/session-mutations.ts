/** Changes of sessions on the server, with optimistic updates of the session list. */
import type { SessionRow } from '../../../lib/schema/session.ts'
import type { ApiCall } from '../../api.ts'
import type { Toasts } from '../shell/toast.ts'
import { isHostSession } from './host-session.ts'
import type { KnownSessions } from './known-sessions.ts'

export type SessionMutationsOptions = {
  api: ApiCall
  toasts: Toasts
  row: (id: string) => SessionRow | undefined
  known: Pick<KnownSessions, 'upsert' | 'drop' | 'undelete' | 'whileShown'>
}

export const createSessionMutations = (options: SessionMutationsOptions) => {
  const { api, toasts, row } = options
  const { upsert, drop, undelete, whileShown } = options.known

  /** Imports a host session so that it can be changed. True when it was imported now. */
  const importHostSession = async (id: string): Promise<boolean> => {
    if (!isHostSession(row(id))) return false
    upsert((await api('POST /api/session/import_cli', { session_id: id })).session)
    return true
  }

  /** Optimistic update: changes the row at once, and no longer if the server rejects the change. */
  const change = async (
    id: string,
    patch: Partial<SessionRow>,
    send: () => Promise<{ session: SessionRow }>,
  ): Promise<void> => {
    try {
      await whileShown({ id, patch }, async () => {
        await importHostSession(id)
        upsert((await send()).session)
      })
    } catch (error) {
      toasts.showError(error)
    }
  }

  return {
    rename: (id: string, title: string) =>
      change(id, { title }, () => api('POST /api/session/rename', { session_id: id, title })),
    pin: (id: string, pinned: boolean) =>
      change(id, { pinned }, () => api('POST /api/session/pin', { session_id: id, pinned })),
    archive: (id: string, archived: boolean) =>
      change(id, { archived }, () =>
        api('POST /api/session/archive', { session_id: id, archived }),
      ),
    move: (id: string, project: string | null) =>
      change(id, { project_id: project }, () =>
        api('POST /api/session/move', { session_id: id, project_id: project }),
      ),
    update: (id: string, patch: { model?: string; workspace?: string }) =>
      change(id, patch, () => api('POST /api/session/update', { session_id: id, ...patch })),
    importHostSession,
    async duplicate(id: string): Promise<string> {
      await importHostSession(id)
      const { session } = await api('POST /api/session/duplicate', { session_id: id })
      upsert(session)
      return session.session_id
    },
    async branch(id: string, keep?: number): Promise<string> {
      await importHostSession(id)
      const reply = await api('POST /api/session/branch', {
        session_id: id,
        ...(keep === undefined ? {} : { keep_count: keep }),
      })
      return reply.session_id
    },
    /** Moves a session to the trash; returns a function that restores it. */
    async remove(id: string): Promise<() => Promise<void>> {
      await whileShown({ id, patch: null }, async () => {
        await api('POST /api/session/delete', { session_id: id })
        drop(id)
      })
      return async () =>
        undelete((await api('POST /api/session/restore', { session_id: id })).session)
    },
    /** Deletes a session from disk, bypassing the trash. */
    async deletePermanently(id: string): Promise<void> {
      await api('POST /api/session/delete', { session_id: id, permanent: true })
      drop(id)
    },
    /** Deletes cleared and undone messages from disk. */
    async purge(id: string): Promise<void> {
      upsert((await api('POST /api/session/purge', { session_id: id })).session)
    },
  }
}
