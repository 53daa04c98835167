/** Signing in with an OpenID Connect provider, and linking the person's account there. */
import { z } from 'zod'
import { byInvitation, join } from '../lib/people/invitations.ts'
import { SESSION_COOKIE, sessionCookie, signInClient } from '../lib/people/sign-ins.ts'
import { type ExternalIdentity, identityKey, proxyIdentity } from '../lib/people/identities.ts'
import { type Oidc, OidcFailure, type OidcProblem } from '../lib/people/oidc.ts'
import { recorded, recordedSignIn } from '../lib/people/audit.ts'
import { type Ctx, endpoint } from '../lib/context.ts'
import { missing, UserError } from '../lib/errors.ts'
import { redirect } from '../lib/http/reply.ts'
import { Ok, ok } from '../lib/schema/ok.ts'

/** What the answer of the provider may be used for. Linking is bound to the sign-in that asked for it. */
const SIGN_IN = 'sign-in'
const linkFor = (signIn: string): string => `link ${signIn}`

const required = ({ app }: Ctx): Oidc => {
  if (!app.oidc) throw missing('No provider is set up. Set AGENT_WEBUI_OIDC_ISSUER.')
  return app.oidc
}

/** The sign-in of this browser; undefined without one. */
const signInOf = (ctx: Ctx): string | undefined => {
  const cookie = ctx.cookies[SESSION_COOKIE]
  return ctx.app.auth.check(cookie) ? ctx.app.auth.signInOf(cookie) : undefined
}

export const start = endpoint({
  summary: 'Sign in with the OpenID Connect provider: continues there',
  public: true,
  effects: true,
  raw: 'text/html',
  cache: 'no-store',
  async run(ctx) {
    const oidc = required(ctx)
    const login = `${ctx.client.prefix}/login`
    // Only a setup token gives access before there is a password.
    if (ctx.app.auth.mode() === 'setup') return redirect(login)
    try {
      const { url, cookie } = await oidc.begin(ctx.client, SIGN_IN)
      ctx.setCookie(cookie)
      return redirect(url)
    } catch (error) {
      if (!(error instanceof OidcFailure)) throw error
      return redirect(`${login}#oidc=${error.problem}`)
    }
  },
})

/** Records a refusal, for the person who wonders why someone cannot enter. */
const noteRefusal = (ctx: Ctx, problem: OidcProblem, who = ''): void =>
  recorded('sign-in-failed', () => `oidc ${problem} ${who}`.trim())(ctx, {})

/** The invitation may have been used, replaced, or have expired since the person went to the provider. */
const finishJoining = async (
  ctx: Ctx,
  purpose: string,
  identity: ExternalIdentity,
): Promise<void> => {
  const { identities, invitations } = ctx.app
  const invitation = invitations.open().find(({ key }) => byInvitation(key) === purpose)
  if (!invitation) throw new OidcFailure('expired', 'The invitation was used or replaced.')
  identities.link(invitation.person.id, identity)
  await join(ctx, invitation.key, { how: 'oidc', identity: identityKey(identity) })
  recorded('sign-in', () => 'invitation')(ctx, {})
}

const finish = async (ctx: Ctx, oidc: Oidc): Promise<string> => {
  const { auth, identities, invitations } = ctx.app
  const query = ctx.req.url?.split('?')[1] ?? ''
  const by = signInOf(ctx)
  const invited = invitations.open().map(({ key }) => byInvitation(key))
  const { identity, purpose } = await oidc.finish(ctx.client, {
    query,
    cookies: ctx.cookies,
    purposes: [SIGN_IN, ...(by === undefined ? [] : [linkFor(by)]), ...invited],
    needsEmail: each => identities.linkedTo(each) === undefined,
  })
  if (invited.includes(purpose)) {
    await finishJoining(ctx, purpose, identity)
    return '/login#oidc=done'
  }
  if (purpose !== SIGN_IN) {
    if (signInOf(ctx) !== by) throw new OidcFailure('expired', 'The sign-in has ended.')
    identities.link(auth.personBehind(by ?? '') ?? '', identity)
    recorded('identity-linked', () => identity.name)(ctx, {})
    return '/settings/security'
  }
  const person = identities.personOf(identity)
  const isKnown = () => person !== undefined && identities.personOf(identity) === person
  if (!isKnown()) throw new OidcFailure('unknown', identity.email ?? identity.name)
  const cookie = await auth.admit(
    signInClient(ctx),
    { how: 'oidc', identity: identityKey(identity), person: person || undefined },
    isKnown,
  )
  // The first sign-in by an address: from now on the account counts, also when its address changes.
  if (person !== undefined) identities.link(person, identity)
  // Otherwise a browser that signs in again would be listed twice.
  auth.logout(ctx.cookies[SESSION_COOKIE])
  recorded('sign-in', () => 'oidc')(ctx, {})
  ctx.setCookie(sessionCookie(cookie, ctx.client.secure))
  return '/login#oidc=done'
}

export const callback = endpoint({
  summary: 'Where the provider sends the browser back: signs in, or links the account',
  public: true,
  effects: true,
  linked: true,
  raw: 'text/html',
  cache: 'no-store',
  async run(ctx) {
    const oidc = required(ctx)
    const { prefix } = ctx.client
    ctx.setCookie(oidc.endCookie(ctx.client))
    // A redirect in any case: the code must not stay in the address bar or the history.
    const end = (problem: string) =>
      redirect(
        ctx.app.auth.check(ctx.cookies[SESSION_COOKIE])
          ? `${prefix}/settings/security?sign_in=${problem}`
          : `${prefix}/login#oidc=${problem}`,
      )
    try {
      const slot = ctx.app.oidcThrottle.take(ctx.client)
      try {
        const next = await finish(ctx, oidc)
        slot.clear()
        return redirect(`${prefix}${next}`)
      } catch (error) {
        const problem = error instanceof OidcFailure ? error.problem : undefined
        // The provider's answer decides nothing then, so it is no attempt.
        if (problem !== 'rejected' && problem !== 'unknown') slot.release()
        else noteRefusal(ctx, problem, problem === 'unknown' ? (error as Error).message : '')
        throw error
      }
    } catch (error) {
      if (error instanceof OidcFailure) return end(error.problem)
      if (error instanceof UserError && error.kind === 'too-many') return end('throttled')
      // Linked to someone else, or too many.
      if (error instanceof UserError && error.kind === 'conflict') return end('refused')
      throw error
    }
  },
})

const Linked = z.object({
  issuer: z.string(),
  subject: z.string(),
  name: z.string(),
  linked_at: z.number(),
})

export const view = endpoint({
  access: 'read',
  summary: 'Accounts elsewhere that sign the person in here, and where one can be linked',
  cache: 'no-store',
  output: z.object({
    /** Name of the provider; null: none is configured. */
    provider: z.string().nullable(),
    /** Whom the proxy names, when that is not linked yet; null: no one. */
    proxy_user: z.string().nullable(),
    linked: z.array(Linked),
  }),
  run({ app, person, user }) {
    const isFree = user !== undefined && app.identities.personOf(proxyIdentity(user)) === undefined
    return {
      provider: app.oidc?.name ?? null,
      proxy_user: isFree ? user : null,
      linked: app.identities.list(person.id),
    }
  },
})

export const linkProxy = endpoint({
  access: 'read',
  audit: recorded('identity-linked'),
  summary: 'Link the user whom the trusted proxy names, after the person is confirmed',
  input: z.object({ password: z.string().optional() }),
  output: Ok,
  async run(ctx, { password }) {
    const { user, app, person } = ctx
    if (user === undefined) throw missing('No trusted proxy names a user in this request.')
    await app.auth.confirm(ctx.cookies[SESSION_COOKIE], { password, client: signInClient(ctx) })
    app.identities.link(person.id, proxyIdentity(user))
    return ok
  },
})

export const link = endpoint({
  access: 'read',
  summary: 'Link the account at the provider, after the person is confirmed: where to continue',
  input: z.object({ password: z.string().optional() }),
  output: z.object({ url: z.string() }),
  async run(ctx, { password }) {
    const { auth } = ctx.app
    const oidc = required(ctx)
    const own = ctx.cookies[SESSION_COOKIE]
    await auth.confirm(own, { password, client: signInClient(ctx) })
    const { url, cookie } = await oidc.begin(ctx.client, linkFor(auth.signInOf(own)))
    ctx.setCookie(cookie)
    return { url }
  },
})

export const joinWith = endpoint({
  summary: 'Accept an invitation with an account at the provider: where to continue',
  public: true,
  audit: (ctx, input, error) =>
    error !== undefined && recordedSignIn('invitation')(ctx, input, error),
  input: z.object({ code: z.string().max(200) }),
  output: z.object({ url: z.string() }),
  async run(ctx, { code }) {
    const oidc = required(ctx)
    const { invitations, pairingThrottle } = ctx.app
    const slot = pairingThrottle.take(ctx.client)
    const { key } = invitations.read(code)
    slot.clear()
    const { url, cookie } = await oidc.begin(ctx.client, byInvitation(key))
    ctx.setCookie(cookie)
    return { url }
  },
})

export const unlink = endpoint({
  access: 'read',
  summary: 'Remove a linked account; devices that it signed in are signed out',
  audit: recorded('identity-unlinked'),
  input: z.object({ issuer: z.string().max(2_000), subject: z.string().max(2_000) }),
  output: Ok,
  run(ctx, identity) {
    ctx.app.identities.unlink(ctx.person.id, identity)
    ctx.app.auth.revokeIdentity(identityKey(identity))
    return ok
  },
})
