/** The toolsets of the profile and of the open session, and toggling them. */
import { signal } from '@preact/signals'
import type { Toolsets } from '../../../lib/schema/toolset.ts'
import type { App } from '../../app.ts'
import { isHostSession } from '../sessions/host-session.ts'
import { lazyState } from '../../parts/lazy-state.ts'
import { type LoadState, runLoad } from '../../parts/load-state.ts'

type ToolsOptions = Pick<App, 'shell' | 'chat' | 'sessions'>

export const createTools = ({ shell, chat: { transcript: chat }, sessions }: ToolsOptions) => {
  const { api, toasts } = shell
  const profile = signal<Toolsets | null>(null)
  /** Null when no session is open, or it belongs to the host agent. */
  const session = signal<Toolsets | null>(null)
  const state = signal<LoadState>('loading')

  const load = (): Promise<void> =>
    runLoad(state, toasts, async () => {
      const id = chat.sessionId.peek()
      const row = sessions.row(id)
      const [ofProfile, ofSession] = await Promise.all([
        api('GET /api/tools', {}),
        id && row && !isHostSession(row) ? api('GET /api/tools', { session_id: id }) : null,
      ])
      profile.value = ofProfile
      session.value = ofSession
    })

  /** Reloads afterwards, whether or not the change succeeded. */
  const change = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      await work()
    } catch (error) {
      toasts.showError(error)
    }
    await load()
  }

  const override = (session_id: string, toolsets: string[] | null) =>
    change(() => api('POST /api/session/toolsets', { session_id, toolsets }))

  return {
    profile,
    session,
    state,
    load,
    toggle: (toolset: string, enabled: boolean): Promise<void> =>
      change(() => api('POST /api/tools/toggle', { toolset, enabled })),

    /** An override starts with the toolsets enabled now. */
    setOverride(on: boolean): Promise<void> {
      const now = session.value
      if (!now?.session_id) return Promise.resolve()
      const names = now.toolsets.filter(each => each.enabled).map(({ name }) => name)
      return override(now.session_id, on ? names : null)
    },
    toggleForSession(toolset: string, on: boolean): Promise<void> {
      const now = session.value
      if (!now?.session_id || !now.enabled_toolsets) return Promise.resolve()
      const names = now.toolsets
        .filter(each => (each.name === toolset ? on : each.enabled))
        .map(({ name }) => name)
      // Keep names this list does not show, such as MCP servers.
      const others = now.enabled_toolsets.filter(
        name => !now.toolsets.some(each => each.name === name),
      )
      return override(now.session_id, [...names, ...others])
    },
  }
}

export const toolsOf = lazyState(app => createTools(app))
