/** What `@` finds beside files: chats and skills, as references that the model can read with its tools. */
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import { fuzzyMatches } from '../lib/base/fuzzy.ts'
import { redactValue } from '../lib/base/redact/redact.ts'
import { Mention } from '../lib/schema/mention.ts'

/** The newest ones: about 15 ms for each letter that is typed. The palette searches all. */
const MAX_CHATS = 3_000

type Chat = { id: string; title: string; ms: number }
type Skill = { name: string; description: string }

type MentionSources = {
  /** Newest first. */
  chats: readonly Chat[]
  skills: readonly Skill[]
}

/** The best matches of each kind; without a query the newest chats and the first skills. */
const findMentions = (
  { chats, skills }: MentionSources,
  { query, limit }: { query: string; limit: number },
): Mention[] => {
  const best = <T>(items: readonly T[], nameOf: (item: T) => string) =>
    query.trim() === ''
      ? items.slice(0, limit).map(item => ({ item, ranges: [] as number[] }))
      : fuzzyMatches(items.map(nameOf), query)
          .slice(0, limit)
          .map(({ at, ranges }) => ({ item: items[at]!, ranges }))
  return [
    ...best(chats, ({ title }) => title).map(
      ({ item: { id, title, ms }, ranges }): Mention => ({
        kind: 'chat',
        id,
        name: title,
        ranges,
        updated_at: ms / 1_000,
      }),
    ),
    ...best(skills, ({ name }) => name).map(
      ({ item: { name, description }, ranges }): Mention => ({
        kind: 'skill',
        id: name,
        name,
        ranges,
        description,
      }),
    ),
  ]
}

export const search = endpoint({
  access: 'read',
  summary: 'The newest 3000 chats of the profile by title, and its skills by name, best first',
  input: z.object({
    q: z.string().max(200).default(''),
    limit: z.coerce.number().int().min(1).max(50).default(8),
    /** A session that is left out: the open one. */
    session_id: z.string().max(128).default(''),
  }),
  output: z.object({ mentions: z.array(Mention) }),
  async run({ app, home }, { q, limit, session_id }) {
    await app.sessions.catchUp()
    const own = app.sessions.names(home.name, MAX_CHATS)
    const others = app.settings.get().show_cli_sessions ? app.hostSessions.rows(home) : []
    const theirs = others
      .filter(row => row.title.trim() !== '' && !app.sessions.row(row.session_id))
      .map(row => ({ id: row.session_id, title: row.title, ms: row.updated_at * 1_000 }))
    const chats = [...own, ...theirs]
      .filter(({ id }) => id !== session_id)
      .toSorted((a, b) => b.ms - a.ms)
    const sources = { chats, skills: app.skills.list(home) }
    return redactValue({ mentions: findMentions(sources, { query: q, limit }) })
  },
})
