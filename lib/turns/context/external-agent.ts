/** Binds an external agent to a session: its home, MCP servers, title, and the state that the journal stores. */
import { z } from 'zod'
import { oneLine } from '../../base/shorten.ts'
import { asObject } from '../../base/json.ts'
import type { ExternalAgentContext, ExternalSession } from '../../agent/external-agent.ts'
import type { Home } from '../../profiles/home.ts'
import type { Meta } from '../../sessions/entries.ts'
import { fallbackTitle, isProvisional } from '../../sessions/title.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import { serversFor } from './external-agent-mcp.ts'
import { firstExchange } from '../generate-title.ts'

const Counts = z.object({
  input: z.number(),
  output: z.number(),
  read: z.number(),
  written: z.number(),
})

/** Under the key `acp` of the session's record, by agent. Tolerant, because the file may have been edited by hand. */
const StoredAgentSession = z.object({
  session_id: z.string().min(1),
  owner: z.string().catch(''),
  cwd: z.string().catch(''),
  mark: z.string().catch(''),
  sent: z.string().catch(''),
  cost: z.number().catch(0),
  reported: z.object({ last: Counts }).nullable().catch(null),
  mode: z.string().nullable().catch(null),
  options: z.record(z.string(), z.union([z.string(), z.boolean()])).catch({}),
})

/** The stored state of an agent in a session's record. */
export const storedAgentSession = (meta: Meta, agent: string): ExternalSession | null => {
  const parsed = StoredAgentSession.safeParse(asObject(meta.acp)[agent])
  return parsed.success ? parsed.data : null
}

const MAX_TITLE_CHARS = 80

/** Uses the first title that the agent makes, unless the user set one. Agents also send messages of the user as titles. */
export const takeTitle = (sessionId: string, agentTitle: string, sessions: Sessions): void => {
  const row = sessions.row(sessionId)
  if (!row || sessions.head(sessionId).meta.acp_title !== undefined) return
  const title = [...oneLine(agentTitle)].slice(0, MAX_TITLE_CHARS).join('')
  const { messages } = sessions.load(sessionId)
  const { question } = firstExchange(messages)
  const isReplaceable = isProvisional(row.title, question) || row.title === fallbackTitle(question)
  const isMessage = messages.some(
    ({ role, content }) =>
      role === 'user' && typeof content === 'string' && isBeginningOf(title, content),
  )
  if (title === row.title || isProvisional(title) || isMessage || !isReplaceable) return
  const patch = { title, llm_title_generated: true, acp_title: title }
  sessions.append(sessionId, [{ t: 'meta', patch }])
}

/** Agents cut a message in their own ways: at a length, with an ellipsis. */
const isBeginningOf = (title: string, message: string): boolean =>
  isProvisional(title, message) ||
  message
    .replace(/\s+/g, ' ')
    .trim()
    .toLowerCase()
    .startsWith(title.replace(/\s*(?:…|\.{3})$/, '').toLowerCase())

export const externalFor = (
  { sessionId, home }: { sessionId: string; home: Home },
  sessions: Sessions,
): ExternalAgentContext => {
  const { passed, withheld } = serversFor(
    home.config(),
    sessions.head(sessionId).meta.enabled_toolsets,
  )
  return {
    home: home.name,
    env: home.childEnv(),
    mcpServers: passed,
    withheld,
    onTitle: title => takeTitle(sessionId, title, sessions),
    load: agent => storedAgentSession(sessions.head(sessionId).meta, agent),
    save(agent, session) {
      const before = asObject(sessions.head(sessionId).meta.acp)
      if (JSON.stringify(before[agent]) === JSON.stringify(session)) return
      const acp = { ...before, [agent]: session }
      sessions.append(sessionId, [{ t: 'meta', patch: { acp } }])
    },
  }
}
