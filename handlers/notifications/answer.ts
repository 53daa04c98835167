/** An answer given in a notification: the token in it is valid for this answer to this question only. */
import { z } from 'zod'
import { preferredLanguage } from '../../lib/base/languages.ts'
import { endpoint } from '../../lib/context.ts'
import { missing } from '../../lib/errors.ts'

export const answer = endpoint({
  summary:
    'Answer an approval or question with the token of a notification; the first answer counts',
  public: true,
  audit({ app, client }, { token }, error) {
    const found = app.notifications.tokenOf(token)
    if (error !== undefined || found?.question !== 'approval') return
    const { answer, session_id, by: device } = found
    app.audit.note('approval', {
      address: client.address,
      device,
      detail: `${answer} ${session_id}`,
    })
  },
  input: z.object({
    token: z.string().max(200),
    /** The written answer, where the token is for one. */
    text: z.string().max(4_000).optional(),
  }),
  output: z.object({ ok: z.literal(true), answer: z.string() }),
  run(ctx, { token, text }) {
    const { notifications } = ctx.app
    const found = notifications.tokenOf(token)
    // What goes wrong is shown by a service worker, which has no texts of its own.
    const language = preferredLanguage(ctx.req.headers['accept-language'])
    if (!found) {
      ctx.app.answerThrottle.take(ctx.client)
      throw missing(notifications.translator(undefined, language)('answer.invalid'))
    }
    return { ok: true as const, answer: ctx.app.answerByToken(found, text, language) }
  },
})
