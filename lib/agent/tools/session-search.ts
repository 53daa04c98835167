/** Tool: searches earlier sessions of this profile. */
import { z } from 'zod'
import type { Tool } from '../types.ts'

export type FoundSession = {
  session_id: string
  title: string
  source: string
  model: string | null
  /** ISO. */
  last_active: string
  /** Matching messages, newest first, with the messages around them; empty if only the title matches. */
  matches?: {
    role: string
    when: string | null
    text: string
    before: string | null
    after: string | null
  }[]
  preview?: string
  message_count?: number
  /** What was said, oldest first; only when one session was asked for. */
  messages?: { role: string; when: string | null; text: string }[]
  /** Messages before the first of `messages`. */
  earlier?: number
}

export type SessionSearchStore = {
  recent: (limit: number) => Promise<FoundSession[]>
  find: (search: { query: string; roles: string[]; limit: number }) => Promise<FoundSession[]>
  /** One session: matching messages with a query, else its last ones. Throws a UserError for an id that is not in this profile. */
  read: (request: { id: string; query: string; roles: string[] }) => FoundSession
}

const ROLES = ['user', 'assistant', 'tool', 'system']

const input = z.object({
  query: z.string().max(500).default('').describe('Words that must all occur, or a "phrase".'),
  role_filter: z
    .string()
    .default('')
    .describe('Only messages of these roles, separated by commas: user, assistant, tool.'),
  session_id: z
    .string()
    .max(128)
    .default('')
    .describe('Read or search only this one: the ID in [title](chat:ID).'),
  limit: z.int().min(1).max(5).default(3).describe('Number of conversations.'),
})

const rolesOf = (text: string): string[] => {
  const roles = text.toLowerCase().split(/[\s,]+/)
  return ROLES.filter(role => roles.includes(role))
}

export const sessionSearchTool = (store: SessionSearchStore): Tool<typeof input> => ({
  name: 'session_search',
  summary:
    'Search earlier conversations of this profile, including those of the command line. Use it when the user refers to something from before, or when a problem may have been solved already. Without a query, lists the most recent ones.',
  input,
  kind: 'read',
  preview: ({ query, session_id }) => query || session_id || 'recent conversations',
  async run(_ctx, { query: text, role_filter, session_id, limit }) {
    const query = text.trim()
    const id = session_id.trim().replace(/^chat:/, '')
    const results = id
      ? [store.read({ id, query, roles: rolesOf(role_filter) })]
      : query
        ? await store.find({ query, roles: rolesOf(role_filter), limit })
        : await store.recent(limit)
    return {
      preview: id ? (results[0]?.title ?? id) : `${query || 'recent'} · ${results.length} found`,
      content: JSON.stringify({
        success: true,
        ...(query ? { query } : id ? {} : { mode: 'recent' }),
        results,
        count: results.length,
        ...(results.length === 0
          ? { message: query ? 'Nothing was found. Try other words.' : 'No earlier conversations.' }
          : {}),
      }),
    }
  },
})
