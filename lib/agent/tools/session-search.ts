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
}

export type SessionSearchStore = {
  recent: (limit: number) => Promise<FoundSession[]>
  find: (asked: { query: string; roles: string[]; limit: number }) => Promise<FoundSession[]>
}

const ROLES = ['user', 'assistant', 'tool', 'system']

const input = z.object({
  query: z.string().max(500).default('').describe('Words that must all occur, or a "phrase".'),
  role_filter: z
    .string()
    .default('')
    .describe('Only messages of these roles, separated by commas: user, assistant, tool.'),
  limit: z.int().min(1).max(5).default(3).describe('Number of conversations.'),
})

const rolesOf = (text: string): string[] => {
  const given = text.toLowerCase().split(/[\s,]+/)
  return ROLES.filter(role => given.includes(role))
}

export const sessionSearchTool = ({ recent, find }: SessionSearchStore): Tool<typeof input> => ({
  name: 'session_search',
  summary:
    'Search earlier conversations of this profile, including those of the command line. Use it when the user refers to something from before, or when a problem may have been solved already. Without a query, lists the most recent ones.',
  input,
  kind: 'read',
  preview: ({ query }) => query || 'recent conversations',
  async run(_ctx, { query: asked, role_filter, limit }) {
    const query = asked.trim()
    const results = query
      ? await find({ query, roles: rolesOf(role_filter), limit })
      : await recent(limit)
    return {
      preview: `${query || 'recent'} · ${results.length} found`,
      content: JSON.stringify({
        success: true,
        ...(query ? { query } : { mode: 'recent' }),
        results,
        count: results.length,
        ...(results.length === 0
          ? { message: query ? 'Nothing was found. Try other words.' : 'No earlier conversations.' }
          : {}),
      }),
    }
  },
})
