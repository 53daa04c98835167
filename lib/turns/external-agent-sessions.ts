/** Earlier sessions of an external agent: lists those of a session's workspace and imports one. */
import { redact, redactValue } from '../base/redact/redact.ts'
import { setImmediate } from 'node:timers/promises'
import { adoptSession, toSavedSession } from '../agent/acp/attach-session.ts'
import { applyFirstChoices } from '../agent/acp/choices.ts'
import { historyHash } from '../agent/acp/history-hash.ts'
import { toAcpServers } from '../agent/acp/mcp-servers.ts'
import { listAgentSessions } from '../agent/acp/attach-session.ts'
import { stripWorkspacePrefix } from '../agent/acp/prompt.ts'
import { conflict } from '../errors.ts'
import type { AgentSessions, Adopted } from '../schema/external.ts'
import { rowsOf } from '../sessions/listing.ts'
import { toConversation } from '../sessions/history.ts'
import { fallbackTitle } from '../sessions/title.ts'
import {
  callAgent,
  type ExternalAgentTarget,
  requireTarget,
} from './context/external-agent-target.ts'
import type { Services } from './context/services.ts'
import { expandSkills } from './context/user-content.ts'
import { externalFor, storedAgentSession } from './context/external-agent.ts'
import type { Turns } from './turns.ts'

const PAGE_SIZE = 500

/** Whether the person may read this session of ours. */
type MayRead = (sessionId: string) => boolean

const inUse = (holder?: string) =>
  conflict('Another chat already continues this session.', {
    code: 'external_session_in_use',
    ...(holder !== undefined && { session_id: holder }),
  })

export class ExternalAgentSessions {
  readonly #services: Services
  readonly #turns: Turns
  /** Imports in progress: two sessions must not import the same one. */
  readonly #importing = new Set<string>()

  constructor(services: Services, turns: Turns) {
    this.#services = services
    this.#turns = turns
  }

  /** Without those that a chat continues which the person may not read. */
  async list(sessionId: string, mayRead: MayRead): Promise<AgentSessions> {
    const { sessions, external } = this.#services
    const { id, row, home, endpoint, agent } = requireTarget(this.#services, sessionId)
    const side = externalFor({ sessionId: id, home }, sessions)
    const workspace = agent.settings?.cwd ?? (row.workspace || home.dir)
    /** Sessions that were opened for a chat without messages, which no list has: there is nothing in them to continue. */
    const empty = new Set<string>()
    const work = external.use(endpoint, side, async running => {
      for (const [ours, opened] of running.sessions)
        if (sessions.row(ours)?.message_count === 0) empty.add(opened.id)
      return listAgentSessions(running, workspace)
    })
    const all = await callAgent(agent.name, work)
    if (!all) return { sessions: [], note: `${agent.name} doesn't list its sessions.` }
    const own = storedAgentSession(sessions.head(id).meta, agent.id)
    if (own?.owner === id) empty.add(own.session_id)
    const holders = await this.#holders(agent.id)
    const visible = all.filter(({ id: past }) => {
      const holder = holders.get(past)
      return !empty.has(past) && (holder === undefined || mayRead(holder))
    })
    return {
      note: visible.length === 0 ? `${agent.name} has no earlier sessions in this workspace.` : '',
      sessions: visible.map(past => ({
        agent_session_id: past.id,
        title: redact(past.title).slice(0, 300),
        updated_at: past.updatedAt,
        cwd: past.cwd,
        session_id: holders.get(past.id) ?? null,
      })),
    }
  }

  async adopt(sessionId: string, theirs: string, title: string | undefined): Promise<Adopted> {
    const target = requireTarget(this.#services, sessionId)
    const { id, home, agent } = target
    const key = JSON.stringify([home.name, agent.id, theirs])
    if (this.#importing.has(key)) throw inUse()
    this.#importing.add(key)
    try {
      return await this.#turns.runExclusive(id, signal =>
        this.#adopt(target, theirs, title, signal),
      )
    } finally {
      this.#importing.delete(key)
    }
  }

  async #adopt(
    { id, row, home, endpoint, agent }: ExternalAgentTarget,
    theirs: string,
    title: string | undefined,
    signal: AbortSignal,
  ): Promise<Adopted> {
    const { sessions, external, skills, hub } = this.#services
    const workspace = agent.settings?.cwd ?? (row.workspace || home.dir)
    if (sessions.require(id).message_count > 0)
      throw conflict("Only an empty chat can continue an agent's session. Start a new one.", {
        code: 'chat_not_empty',
      })
    const holder = (await this.#holders(agent.id)).get(theirs)
    if (holder !== undefined && holder !== id) throw inUse(holder)
    const side = externalFor({ sessionId: id, home }, sessions)
    const served = { provider: endpoint.provider, model: endpoint.model }
    const work = external.use(endpoint, side, async running => {
      const servers = toAcpServers(side, agent, running.connection.capabilities)
      const { session, replayed } = await adoptSession(
        running,
        theirs,
        workspace,
        served,
        servers,
        signal,
      )
      await applyFirstChoices(running, session, agent.settings, Boolean(agent.model))
      const messages = replayed?.messages ?? []
      const first = messages.find(({ role }) => role === 'user')?.content
      const name = title || (typeof first === 'string' && first ? fallbackTitle(first) : agent.name)
      sessions.append(id, [
        ...messages.map(({ id: _, ...message }) => ({
          t: 'message' as const,
          message: message.role === 'user' ? message : redactValue(message),
        })),
        { t: 'meta', patch: { title: name } },
      ])
      // The hash must match what the next turn computes.
      const history = expandSkills(toConversation(sessions.load(id)), text =>
        skills.expand(home, text),
      )
      const mark = historyHash(stripWorkspacePrefix(history, workspace))
      const place = { workspace, sessionKey: id }
      side.save(agent.id, toSavedSession(session, place, { mark, cost: 0 }))
      // The empty one that was opened to show its modes.
      const opened = running.sessions.get(id)
      if (opened && opened !== session) running.close(opened)
      running.sessions.set(id, session)
      return replayed
    })
    const replayed = await callAgent(agent.name, work)
    await sessions.sync(id)
    hub.publish(`session:${id}`, { type: 'reset', data: {} })
    const more = replayed?.omitted ?? 0
    const note = !replayed
      ? `${agent.name} continues that session but doesn't provide its messages, so they aren't shown.`
      : more > 0
        ? `${more} older messages aren't shown. ${agent.name} still has them.`
        : ''
    return { session_id: id, message_count: replayed?.messages.length ?? 0, note }
  }

  /** Agent session id → our session that continues it. A copy of a session has another owner and does not count. */
  async #holders(agent: string): Promise<Map<string, string>> {
    const { sessions } = this.#services
    const holders = new Map<string, string>()
    let cursor: string | undefined
    do {
      const { body, next } = sessions.list({ limit: PAGE_SIZE, cursor })
      for (const { session_id: ours } of rowsOf(body)) {
        const link = storedAgentSession(sessions.head(ours).meta, agent)
        if (link?.owner !== ours) continue
        holders.set(link.session_id, ours)
      }
      cursor = next ?? undefined
      await setImmediate()
    } while (cursor !== undefined)
    return holders
  }
}
