/** Loads all messages of a chat, page by page, apart from the open chat. */
import type { Platform } from '../../platform.ts'
import { transcriptFromSession } from '../chat/chat-reducer.ts'
import type { Film } from './film.ts'

const PAGE = 500

export const loadFilm = async ({ api }: Pick<Platform, 'api'>, id: string): Promise<Film> => {
  const load = async (before?: string) => {
    const query = { session_id: id, limit: PAGE, ...(before !== undefined && { before }) }
    return transcriptFromSession((await api('GET /api/session', query)).session)
  }
  const last = await load()
  const pages = [last]
  for (let page = last; page.before > 0; ) {
    const first = page.messages[0]?.id
    if (first === undefined) break
    page = await load(first)
    pages.unshift(page)
  }
  const { sessionId, title, summaries } = last
  return {
    sessionId,
    title,
    summaries,
    messages: pages.flatMap(({ messages }) => messages).filter(({ role }) => role !== 'system'),
    turnUsage: pages.flatMap(({ turnUsage }) => turnUsage),
  }
}
