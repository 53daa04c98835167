/** What endpoints record in the audit log: values of their `audit`. */
import type { IncomingMessage } from 'node:http'
import { UserError } from '../errors.ts'
import { type Caller, NO_PERSON } from '../schema/person.ts'
import type { Audit, AuditKind } from './audit.ts'
import type { Auth } from './auth.ts'
import { SESSION_COOKIE } from './cookie.ts'
import type { People } from './people.ts'

/** The part of an endpoint's context that this needs. */
type Recording = {
  app: {
    auth: Pick<Auth, 'list' | 'enabled'>
    audit: Pick<Audit, 'note'>
    people: Pick<People, 'hasOthers' | 'nameOf'>
  }
  person: Pick<Caller, 'id'>
  cookies: Readonly<Record<string, string>>
  client: { address: string }
  req: IncomingMessage
}

const noteOf = (ctx: Recording, what: AuditKind, detail: string): void => {
  const { auth, audit, people } = ctx.app
  const own = auth.list(ctx.cookies[SESSION_COOKIE]).find(({ current }) => current)
  const device = own?.name || ctx.req.headers['user-agent'] || ''
  // The sign-in itself is made by the request, so it is not in its cookies yet.
  const person =
    ctx.person.id !== NO_PERSON.id && (ctx.person.id !== '' || people.hasOthers())
      ? people.nameOf(ctx.person)
      : undefined
  audit.note(what, { address: ctx.client.address, device, person, detail })
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
  <I>(method: string, nameOf: (input: I) => string = () => '') =>
  (ctx: Recording, input: I, error?: unknown): void => {
    const how = `${method} ${nameOf(input)}`.trim()
    if (error === undefined) {
      if (ctx.app.auth.enabled()) noteOf(ctx, 'sign-in', how)
    } else if (isFailure(error)) noteOf(ctx, 'sign-in-failed', `${how} ${error.code ?? ''}`.trim())
  }
