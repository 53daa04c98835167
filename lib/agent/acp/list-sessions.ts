/** Lists an agent's own sessions. */
import { realPath } from '../../store/path-within.ts'
import type { RunningAgent } from './running-agent.ts'
import { withTimeout } from './timeout.ts'
import { SessionList } from './updates.ts'

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
