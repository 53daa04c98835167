/** What another program's agent is given of a session: whose process it is, and what the journal remembers of it. */
import { z } from 'zod'
import type { External, ExternalSession } from '../agent/external.ts'
import type { Home } from '../profiles/home.ts'
import type { Meta } from '../sessions/entries.ts'
import type { Sessions } from '../sessions/types.ts'

/** Under the key `acp` of the session's record, by agent. A file may have been edited by hand. */
const Kept = z.object({
  session_id: z.string().min(1),
  aliases: z.array(z.string()).catch([]),
  owner: z.string().catch(''),
  cwd: z.string().catch(''),
  mark: z.string().catch(''),
  sent: z.string().catch(''),
  cost: z.number().catch(0),
})

const keptOf = (value: unknown): Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {}

/** What is remembered of an agent's side of a session, by its record. */
export const keptIn = (meta: Meta, agent: string): ExternalSession | null => {
  const parsed = Kept.safeParse(keptOf(meta.acp)[agent])
  return parsed.success ? parsed.data : null
}

export const externalOf = (
  { sessionId, home }: { sessionId: string; home: Home },
  sessions: Pick<Sessions, 'head' | 'append'>,
): External => ({
  home: home.name,
  env: home.childEnv(),
  load: agent => keptIn(sessions.head(sessionId).meta, agent),
  save(agent, session) {
    const before = keptOf(sessions.head(sessionId).meta.acp)
    if (JSON.stringify(before[agent]) === JSON.stringify(session)) return
    const acp = { ...before, [agent]: session }
    sessions.append(sessionId, [{ t: 'meta', patch: { acp } }])
  },
})
