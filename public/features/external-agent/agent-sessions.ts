/** Earlier sessions of an external agent, and resuming one of them. */
import { signal } from '@preact/signals'
import type { AgentSessions } from '../../../lib/schema/external.ts'
import type { SessionRow } from '../../../lib/schema/session.ts'
import type { Platform } from '../../platform.ts'

export type EarlierSession = AgentSessions['sessions'][number]

/** The open session. */
export type CurrentSession = {
  id: string
  isEmpty: boolean
  model: string | null
  workspace: string
}

export type AgentSessionsOptions = {
  platform: Platform
  upsert: (row: SessionRow) => void
  open: (id: string) => void
  notify: (note: string) => void
}

export class EarlierSessions {
  readonly #options: AgentSessionsOptions
  /** Null until loaded. */
  readonly list = signal<AgentSessions | null>(null)

  constructor(options: AgentSessionsOptions) {
    this.#options = options
  }

  async load(id: string): Promise<void> {
    this.list.value = await this.#options.platform.api('GET /api/session/agent/sessions', {
      session_id: id,
    })
  }

  async pick(here: CurrentSession, past: EarlierSession): Promise<void> {
    const { open, notify } = this.#options
    const { api } = this.#options.platform
    if (past.session_id) return open(past.session_id)
    const id = await this.#emptySessionFor(here)
    const { note } = await api('POST /api/session/agent/adopt', {
      session_id: id,
      agent_session_id: past.agent_session_id,
      ...(past.title ? { title: past.title.slice(0, 200) } : {}),
    })
    if (note) notify(note)
    if (id !== here.id) open(id)
  }

  reset(): void {
    this.list.value = null
  }

  /** An agent's session can only be adopted by an empty session of ours; otherwise a new one is created. */
  async #emptySessionFor({ id, isEmpty, model, workspace }: CurrentSession): Promise<string> {
    const { api } = this.#options.platform
    const { upsert } = this.#options
    if (isEmpty) return id
    const { session } = await api('POST /api/session/new', {
      ...(model ? { model } : {}),
      ...(workspace ? { workspace } : {}),
    })
    upsert(session)
    return session.session_id
  }
}
