/** What the inbox shows beside the open questions: running turns and chats that ended in trouble, of all profiles. */
import { signal } from '@preact/signals'
import type { App } from '../../app.ts'
import type { Shell } from '../shell/shell-state.ts'
import { lazyState } from '../../parts/lazy-state.ts'
import type { LoadState } from '../../parts/load-state.ts'

type Reply<R extends 'GET /api/running' | 'GET /api/inbox'> = R extends 'GET /api/running'
  ? Awaited<ReturnType<typeof loadRunning>>
  : Awaited<ReturnType<typeof loadInbox>>
const loadRunning = ({ api }: Shell) => api('GET /api/running')
const loadInbox = ({ api }: Shell) => api('GET /api/inbox')

export type RunningTurn = Reply<'GET /api/running'>['turns'][number]
export type Troubled = Reply<'GET /api/inbox'>['troubled'][number]

/** One request for all rows. */
const REFRESH_MS = 2_000

export const inboxOf = lazyState(
  (app: App) => {
    const state = signal<LoadState>('loading')
    const running = signal<readonly RunningTurn[]>([])
    const troubled = signal<readonly Troubled[]>([])
    const sessions = signal<ReadonlyMap<string, { title: string; profile: string }>>(new Map())
    let streams = ''

    const refresh = async (): Promise<void> => {
      const { turns } = await loadRunning(app.shell)
      running.value = turns
      // A turn that ended may have failed.
      const now = turns.map(({ stream_id }) => stream_id).join()
      if (now === streams && state.value === 'ready') return
      const reply = await loadInbox(app.shell)
      streams = now
      troubled.value = reply.troubled
      sessions.value = new Map(reply.sessions.map(each => [each.session_id, each]))
      state.value = 'ready'
    }

    const load = async (): Promise<void> => {
      try {
        await refresh()
      } catch (error) {
        // What was loaded before stays; the connection pill says that the server cannot be reached.
        if (state.value !== 'ready') state.value = 'failed'
        else if (app.shell.connection.state.value.kind === 'live') app.shell.toasts.showError(error)
      }
    }

    return {
      state,
      running,
      troubled,
      sessions,
      load,
      /** Loads until the returned function is called, while the page is visible. */
      watch(): () => void {
        let cancel = () => {}
        let isOver = false
        const next = async (): Promise<void> => {
          if (!document.hidden) await load()
          if (!isOver) cancel = app.shell.platform.clock.timer(REFRESH_MS, () => void next())
        }
        void next()
        return () => {
          isOver = true
          cancel()
        }
      },
    }
  },
  { isShared: true },
)
