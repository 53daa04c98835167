/** The client of a request as sign-ins record it. */
import type { SignInClient } from '../../lib/auth/auth.ts'
import type { Ctx } from '../../lib/context.ts'

export const signInClient = (ctx: Ctx): SignInClient => {
  const { address, via } = ctx.client
  return { address, via, agent: ctx.req.headers['user-agent'] }
}
