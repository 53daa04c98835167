/** Chats and skills after `@`, beside the files of the workspace. Loaded with the first `@`. */
import type { Mention } from '../../../lib/schema/mention.ts'
import { toSeconds } from '../../../lib/base/clock.ts'
import type { Platform } from '../../platform.ts'
import { formatAgo } from '../../parts/relative-time.ts'
import type { Suggestion } from './completion.ts'

const MAX_EACH = 6
const MAX_FILES = 24

/** `[title](chat:id)`: what the tools of the model, and the page, read. */
const mentionText = ({ kind, id, name }: Pick<Mention, 'kind' | 'id' | 'name'>): string =>
  `[${name.replace(/[[\]\s]+/g, ' ').trim()}](${kind}:${id})`

const toSuggestion = (mention: Mention, nowSeconds: number): Suggestion => ({
  kind: 'mention',
  icon: mention.kind === 'chat' ? 'chat' : 'skill',
  name: mention.name,
  ranges: mention.ranges,
  hint:
    mention.updated_at === undefined
      ? (mention.description ?? '')
      : formatAgo(mention.updated_at, nowSeconds),
  text: mentionText(mention),
})

export type FindMentions = { query: string; sessionId: string; files: readonly Suggestion[] }

/** Files, chats, and skills; a group whose best name contains the query is before the others. */
export const withMentions = async (
  { api, clock }: Platform,
  { query, sessionId, files }: FindMentions,
): Promise<Suggestion[]> => {
  const { mentions } = await api('GET /api/mentions', {
    q: query,
    limit: MAX_EACH,
    session_id: sessionId,
  })
  const now = toSeconds(clock.now())
  const of = (kind: Mention['kind']) =>
    mentions.filter(mention => mention.kind === kind).map(each => toSuggestion(each, now))
  const needle = query.toLowerCase()
  const isClose = (group: readonly Suggestion[]): boolean => {
    const [best] = group
    if (needle === '' || !best) return false
    const name = best.kind === 'file' ? (best.path.split('/').at(-1) ?? '') : best.name
    return name.toLowerCase().includes(needle)
  }
  const groups = [files.slice(0, MAX_FILES), of('chat'), of('skill')]
  return [...groups.filter(isClose), ...groups.filter(group => !isClose(group))].flat()
}
