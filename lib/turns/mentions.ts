/** What `@` finds beside files: chats and skills, as references that the model can read with its tools. */
import { fuzzyMatches } from '../base/fuzzy.ts'
import type { Mention } from '../schema/mention.ts'

type Chat = { id: string; title: string; ms: number }
type Skill = { name: string; description: string }

export type MentionSources = {
  /** Newest first. */
  chats: readonly Chat[]
  skills: readonly Skill[]
}

/** The best matches of each kind; without a query the newest chats and the first skills. */
export const findMentions = (
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
