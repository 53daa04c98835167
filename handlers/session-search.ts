/** Search in the titles and messages of sessions. */
import { z } from 'zod'
import { endpoint, readableProfiles } from '../lib/context.ts'
import { PROFILE_NAME } from '../lib/schema/ids.ts'
import { MAX_HITS } from '../lib/sessions/session-search.ts'
import { rowsOf } from '../lib/sessions/listing.ts'
import { toBoolean } from '../lib/profiles/settings.ts'

const SEARCH_LIMIT = 50

export const search = endpoint({
  access: 'read',
  summary: 'Sessions whose title or text matches, best first, with the matching line',
  input: z.object({
    q: z.string().max(1_000).default(''),
    content: z.string().default('1'),
    /** Ignored: older clients limit the number of scanned messages, and the index needs no limit. */
    depth: z.coerce.number().int().min(0).default(5),
    limit: z.coerce.number().int().min(1).max(MAX_HITS).default(SEARCH_LIMIT),
    profile: z.string().regex(PROFILE_NAME, 'Invalid profile name').optional(),
  }),
  output: z.looseObject({
    sessions: z.array(z.looseObject({ session_id: z.string() })),
    /** Others match as well: ask for more of them with a higher `limit`. */
    more: z.boolean().optional(),
  }),
  run: async (ctx, { q, content, limit, profile }) => {
    const profiles = readableProfiles(ctx, profile)
    await ctx.app.sessions.catchUp()
    if (!q.trim()) {
      return { sessions: rowsOf(ctx.app.sessions.list({ profile: profiles }).body) }
    }
    const matches = await ctx.app.sessions.search({
      q,
      content: toBoolean(content),
      // One more says whether there are others.
      limit: limit + 1,
      profile: profiles,
    })
    const hits = matches.slice(0, limit)
    return { sessions: hits, query: q, count: hits.length, more: matches.length > limit }
  },
})
