/** An answer given in a notification: the token in it is valid for this answer to this question only. */
import { z } from 'zod'
import { preferredLanguage } from '../lib/base/languages.ts'
import { endpoint } from '../lib/context.ts'
import { missing, tooMany, UserError } from '../lib/errors.ts'
import { personOf } from '../lib/notifications/receivers.ts'

export const answer = endpoint({
  summary:
    'Answer an approval or question with the token of a notification; the first answer counts',
  public: true,
  audit({ app, client }, { token }, error) {
    const answerToken = app.notifications.tokenOf(token)
    if (error !== undefined || answerToken?.question !== 'approval') return
    const { answer, session_id, by: device, target } = answerToken
    const receiver = app.notifications.receivers.find(target)
    app.audit.note('approval', {
      address: client.address,
      device,
      person:
        receiver && app.people.hasOthers()
          ? app.people.nameOf({ id: personOf(receiver) })
          : undefined,
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
    const answerToken = notifications.tokenOf(token)
    // What goes wrong is shown by a service worker, which has no texts of its own.
    const language = preferredLanguage(ctx.req.headers['accept-language'])
    if (!answerToken) {
      const t = notifications.translator(undefined, language)
      try {
        ctx.app.answerThrottle.take(ctx.client)
      } catch (error) {
        if (error instanceof UserError) throw tooMany(t('answer.not_sent'), { code: error.code })
        throw error
      }
      throw missing(t('answer.invalid'))
    }
    return { ok: true as const, answer: ctx.app.reports.answer(answerToken, text, language) }
  },
})
