/** What endpoints record in the audit log: values of their `audit`. */
import type { IncomingMessage } from 'node:http'
import { UserError } from '../errors.ts'
import type { Audit, AuditKind } from './audit.ts'
import type { Auth } from './auth.ts'
import { SESSION_COOKIE } from './cookie.ts'

/** The part of an endpoint's context that this needs. */
type Recording = {
  app: { auth: Pick<Auth, 'list' | 'enabled'>; audit: Pick<Audit, 'note'> }
  cookies: Readonly<Record<string, string>>
  client: { address: string }
  req: IncomingMessage
}

const noteOf = (ctx: Recording, what: AuditKind, detail: string): void => {
  const { auth, audit } = ctx.app
  const own = auth.list(ctx.cookies[SESSION_COOKIE]).find(({ current }) => current)
  const device = own?.name || ctx.req.headers['user-agent'] || ''
  audit.note(what, { address: ctx.client.address, device, detail })
}

/** The `audit` of an endpoint: records that it succeeded. `detailOf` must return no secret. Undefined: nothing to record. */
export const recorded =
  <I>(what: AuditKind, detailOf: (input: I) => string | undefined = () => '') =>
  (ctx: Recording, input: I, error?: unknown): void => {
    const detail = error === undefined ? detailOf(input) : undefined
    if (detail !== undefined) noteOf(ctx, what, detail)
  }

/**
 * Only refusals that the throttle counts: others cost nothing, so anyone could push everything else out of the log with them.
 * The request for a code is a step of every sign-in with codes.
 */
const isFailure = (error: unknown): error is UserError =>
  error instanceof UserError && error.kind === 'unauthorized' && error.code !== 'code_required'

/** The `audit` of an endpoint that signs in. */
export const recordedSignIn =
  <I>(method: string) =>
  (ctx: Recording, _: I, error?: unknown): void => {
    if (error === undefined) {
      if (ctx.app.auth.enabled()) noteOf(ctx, 'sign-in', method)
    } else if (isFailure(error))
      noteOf(ctx, 'sign-in-failed', `${method} ${error.code ?? ''}`.trim())
  }
