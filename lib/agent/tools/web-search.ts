/** Tool: searches the web. */
import { z } from 'zod'
import type { Tool } from '../types.ts'

export type WebSearchStore = {
  /** Throws if the service doesn't answer. */
  search: (
    query: string,
    signal: AbortSignal,
  ) => Promise<{ title: string; url: string; description: string; position: number }[]>
}

const MAX_PAGES = 10

const input = z.object({
  query: z.string().trim().min(1).max(400),
  limit: z.int().min(1).max(MAX_PAGES).default(MAX_PAGES),
})

export const webSearchTool = ({ search }: WebSearchStore): Tool<typeof input> => ({
  name: 'web_search',
  summary:
    'Search the web. Returns up to ten pages with title, address, and a line of text; read the promising ones with web_extract.',
  input,
  kind: 'read',
  preview: ({ query }) => query,
  async run(ctx, { query, limit }) {
    const web = (await search(query, ctx.signal)).slice(0, limit)
    return {
      preview: `${query} · ${web.length} pages`,
      content: JSON.stringify({ success: true, data: { web } }),
    }
  },
})
