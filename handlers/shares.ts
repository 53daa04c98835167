/** Read-only links to chats: the switch, the links, and a preview. */
import { z } from 'zod'
import { type Ctx, endpoint } from '../lib/context.ts'
import { html } from '../lib/http/reply.ts'
import { SessionId } from '../lib/schema/ids.ts'
import { Share, ShareOptions } from '../lib/schema/share.ts'
import { toBoolean } from '../lib/profiles/settings.ts'
import { recorded } from '../lib/people/audit.ts'

const DEFAULT_DAYS = 7
const MAX_DAYS = 90

const Links = z.object({ enabled: z.boolean(), shares: z.array(Share) })

const show = ({ app }: Ctx): z.output<typeof Links> => ({
  enabled: app.shares.isEnabled(),
  shares: app.shares.list(),
})

export const list = endpoint({
  access: 'own',
  summary: 'Whether share links are on, and the links without their tokens',
  cache: 'no-store',
  output: Links,
  run: show,
})

export const enable = endpoint({
  access: 'own',
  audit: recorded('shares', ({ enabled }) => (enabled ? 'on' : 'off')),
  summary: 'Turn share links on or off; while they are off, no link works',
  input: z.object({ enabled: z.boolean() }),
  output: Links,
  run(ctx, { enabled }) {
    ctx.app.shares.setEnabled(enabled)
    return show(ctx)
  },
})

export const create = endpoint({
  once: 'memory',
  access: 'own',
  audit: recorded('shares', ({ session_id }) => `created ${session_id}`),
  summary: 'Make a read-only link to a chat; the reply is the only place where its token is shown',
  input: ShareOptions.extend({
    session_id: SessionId,
    days: z.int().min(1).max(MAX_DAYS).default(DEFAULT_DAYS),
  }),
  output: Links.extend({ share: Share, token: z.string() }),
  run(ctx, { session_id, ...options }) {
    const row = ctx.app.sessions.require(session_id)
    const { share, token } = ctx.app.shares.create({
      ...options,
      ...ctx.app.sharePages.state(row.session_id),
      session_id: row.session_id,
      profile: row.profile,
    })
    return { ...show(ctx), share, token }
  },
})

export const revoke = endpoint({
  access: 'own',
  audit: recorded('shares', ({ id, all }) => `revoked ${all ? 'all' : id}`),
  summary: 'Revoke a link, or all of them',
  input: z.object({ id: z.string().max(64).optional(), all: z.boolean().default(false) }),
  output: Links.extend({ revoked: z.number() }),
  run(ctx, { id, all }) {
    const { shares } = ctx.app
    const revoked = all ? shares.revokeAll() : Number(id !== undefined && shares.revoke(id))
    return { ...show(ctx), revoked }
  },
})

const Flag = z
  .string()
  .optional()
  .transform(value => toBoolean(value ?? ''))

export const preview = endpoint({
  access: 'own',
  summary: 'The page that a link to a chat would show now',
  input: z.object({
    session_id: SessionId,
    tool_output: Flag,
    pictures: Flag,
    live: Flag,
  }),
  raw: 'text/html',
  cache: 'no-store',
  async run(ctx, { session_id, ...options }) {
    const { SHARE_REPLY } = await import('../lib/sessions/shares/page.ts')
    const row = ctx.app.sessions.require(session_id)
    return html(await ctx.app.sharePages.preview(row.session_id, options), SHARE_REPLY)
  },
})
