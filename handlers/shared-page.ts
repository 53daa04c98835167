/** The public page of a shared chat. */
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import { UserError } from '../lib/errors.ts'
import { html } from '../lib/http/reply.ts'

export const open = endpoint({
  summary: 'A shared chat: a page without scripts, for anyone who has its link',
  input: z.object({ token: z.string() }),
  public: true,
  raw: 'text/html',
  cache: 'no-store',
  async run(ctx, { token }) {
    const { BUSY_PAGE, MISSING_PAGE, SHARE_REPLY } = await import('../lib/sessions/shares/page.ts')
    const { address } = ctx.client
    const page = await ctx.app.sharePages.open(token, ctx.method === 'HEAD' ? null : address)
    if (page !== undefined) return html(page, SHARE_REPLY)
    try {
      ctx.app.shareThrottle.take(ctx.client)
    } catch (error) {
      if (!(error instanceof UserError) || error.kind !== 'too-many') throw error
      return html(BUSY_PAGE, { ...SHARE_REPLY, status: 429 })
    }
    return html(MISSING_PAGE, { ...SHARE_REPLY, status: 404 })
  },
})
