/** Lists an agent's own sessions, and adopts one into an empty session of ours. */
import { realPath } from '../../store/path-within.ts'
import type { RunMessage } from '../types.ts'
import type { RunningAgent } from './running-agent.ts'
import { withTimeout } from './timeout.ts'
import { Replay } from './replay.ts'
import type { AcpMcpServer } from './mcp-servers.ts'
import { Session } from './session.ts'
import { SessionList, OpenedSession } from './updates.ts'

const CALL_MS = 60_000
const MAX_SESSIONS = 200
const MAX_PAGES = 50

export type ListedSession = { id: string; title: string; updatedAt: number | null; cwd: string }

const secondsOf = (time: string | null | undefined): number | null => {
  const ms = Date.parse(time ?? '')
  return Number.isFinite(ms) ? ms / 1_000 : null
}

/** The sessions of one directory, in the agent's order; null if the agent can't list sessions. */
export const listAgentSessions = async (
  { connection, name }: RunningAgent,
  cwd: string,
): Promise<ListedSession[] | null> => {
  if (!connection.capabilities.agentCapabilities.sessionCapabilities.list) return null
  const directory = realPath(cwd)
  const found = new Map<string, ListedSession>()
  const seen = new Set<string>()
  let cursor: string | null = null
  do {
    const answer: unknown = await withTimeout(
      connection.request('session/list', { cwd, ...(cursor === null ? {} : { cursor }) }),
      CALL_MS,
      `${name} did not list its sessions within a minute.`,
    )
    const page = SessionList.safeParse(answer)
    if (!page.success) throw new Error(`${name} did not answer with a list of sessions.`)
    // Some agents ignore `cwd` and list all sessions.
    for (const { sessionId, title, updatedAt, cwd: own } of page.data.sessions)
      if (own && realPath(own) === directory)
        found.set(sessionId, {
          id: sessionId,
          title: title ?? '',
          updatedAt: secondsOf(updatedAt),
          cwd: own,
        })
    cursor = page.data.nextCursor || null
    if (cursor === null || seen.has(cursor)) break
    seen.add(cursor)
  } while (found.size < MAX_SESSIONS && seen.size < MAX_PAGES)
  return [...found.values()].slice(0, MAX_SESSIONS)
}

export type Adopted = {
  session: Session
  /** Null if the agent resumes without replaying the history. */
  replayed: { messages: RunMessage[]; omitted: number } | null
}

/** Restores an agent's session. Changes nothing of ours if the agent refuses. */
export const adoptSession = async (
  running: RunningAgent,
  id: string,
  workspace: string,
  served: { provider: string; model: string },
  mcpServers: AcpMcpServer[],
  signal: AbortSignal,
): Promise<Adopted> => {
  const { connection, name } = running
  const { loadSession, sessionCapabilities } = connection.capabilities.agentCapabilities
  const method = loadSession ? 'session/load' : sessionCapabilities.resume ? 'session/resume' : null
  if (!method) throw new Error(`${name} can't resume earlier sessions.`)
  await running.settled()
  const session = new Session(id, running.clock)
  const replay = loadSession ? new Replay(workspace, served, running.clock) : null
  session.replay = replay
  running.router.register(session)
  const aborted = new Promise<never>((_, reject) => {
    const stop = () => reject(new Error('stopped'))
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })
  try {
    const answer = await withTimeout(
      Promise.race([
        connection.request(method, { sessionId: id, cwd: workspace, mcpServers }),
        aborted,
      ]),
      CALL_MS,
      `${name} did not restore that session within a minute.`,
    )
    // By then all updates written before the response have been handled.
    await new Promise(resolve => setImmediate(resolve))
    const opened = OpenedSession.safeParse(answer ?? {})
    if (opened.success) session.applyOpened(opened.data)
    return { session, replayed: replay?.end() ?? null }
  } finally {
    session.replay = null
  }
}
