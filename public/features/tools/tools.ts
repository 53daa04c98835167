/** The toolsets of the profile and of the open session, and toggling them. */
import { signal } from '@preact/signals'
import type { Toolsets } from '../../../lib/schema/toolset.ts'
import type { App } from '../../app.ts'
import { isHostSession } from '../sessions/host-session.ts'
import { lazyState } from '../../parts/lazy-state.ts'
import { type LoadState, runLoad } from '../../parts/load-state.ts'

export class ToolsState {
  readonly #app: App
  readonly profile = signal<Toolsets | null>(null)
  /** Null when no session is open, or it belongs to the host agent. */
  readonly session = signal<Toolsets | null>(null)
  readonly state = signal<LoadState>('loading')

  constructor(app: App) {
    this.#app = app
  }

  readonly toggle = (toolset: string, enabled: boolean): Promise<void> =>
    this.#change(() => this.#app.shell.api('POST /api/tools/toggle', { toolset, enabled }))

  readonly toggleForSession = (toolset: string, on: boolean): Promise<void> => {
    const now = this.session.value
    if (!now?.session_id || !now.enabled_toolsets) return Promise.resolve()
    const names = now.toolsets
      .filter(each => (each.name === toolset ? on : each.enabled))
      .map(({ name }) => name)
    // Keep names this list does not show, such as MCP servers.
    const others = now.enabled_toolsets.filter(
      name => !now.toolsets.some(each => each.name === name),
    )
    return this.#override(now.session_id, [...names, ...others])
  }

  load(): Promise<void> {
    const { toasts, api } = this.#app.shell
    const { transcript: chat } = this.#app.chat
    const { sessions } = this.#app
    return runLoad(this.state, toasts, async () => {
      const id = chat.sessionId.peek()
      const row = sessions.row(id)
      const [ofProfile, ofSession] = await Promise.all([
        api('GET /api/tools', {}),
        id && row && !isHostSession(row) ? api('GET /api/tools', { session_id: id }) : null,
      ])
      this.profile.value = ofProfile
      this.session.value = ofSession
    })
  }

  /** An override starts with the toolsets enabled now. */
  setOverride(on: boolean): Promise<void> {
    const now = this.session.value
    if (!now?.session_id) return Promise.resolve()
    const names = now.toolsets.filter(each => each.enabled).map(({ name }) => name)
    return this.#override(now.session_id, on ? names : null)
  }

  /** Reloads afterwards, whether or not the change succeeded. */
  async #change(work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#app.shell.toasts.showError(error)
    }
    await this.load()
  }

  #override(session_id: string, toolsets: string[] | null): Promise<void> {
    return this.#change(() =>
      this.#app.shell.api('POST /api/session/toolsets', { session_id, toolsets }),
    )
  }
}

export const toolsOf = lazyState(app => new ToolsState(app))
