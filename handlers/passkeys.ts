/** Passkeys: signing in with one, and adding, renaming and deleting them. */
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { z } from 'zod'
import { byInvitation, join } from '../lib/people/invitations.ts'
import { SESSION_COOKIE, sessionCookie, signInClient } from '../lib/people/sign-ins.ts'
import { type RelyingParty, relyingPartyOf } from '../lib/people/passkeys.ts'
import { type Ctx, endpoint } from '../lib/context.ts'
import { conflict, invalid, missing } from '../lib/errors.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import { recorded, recordedSignIn } from '../lib/people/audit.ts'

const partyOf = (ctx: Ctx): RelyingParty => {
  const { host, secure } = ctx.client
  const { allowedOrigins } = ctx.app.config
  const party = relyingPartyOf({ host, secure, allowedOrigins })
  if (party) return party
  throw invalid(
    'Passkeys need a host name. Open this page at localhost, or at a domain with HTTPS.',
    { code: 'passkey_no_host' },
  )
}

/** What the browser made. The library validates the rest. */
const Response = z.looseObject({
  id: z.string().min(1).max(2_000),
  rawId: z.string().max(2_000),
  type: z.literal('public-key'),
  response: z.looseObject({ clientDataJSON: z.string().max(10_000) }),
})
const Options = z.looseObject({ challenge: z.string() })

const Shown = z.object({
  id: z.string(),
  name: z.string(),
  /** The host name it works for. */
  host: z.string(),
  created_at: z.number(),
  last_used_at: z.number().nullable(),
})

export const list = endpoint({
  access: 'read',
  summary: 'The person’s passkeys, without their keys, and whether this address can have some',
  input: z.object({}),
  output: z.object({ passkeys: z.array(Shown), usable: z.boolean() }),
  run(ctx) {
    const { host, secure } = ctx.client
    return {
      passkeys: ctx.app.passkeys
        .list(ctx.person.id)
        .map(({ id, name, rp_id, created_at, last_used_at }) => ({
          id,
          name,
          host: rp_id,
          created_at,
          last_used_at,
        })),
      usable: relyingPartyOf({ host, secure, allowedOrigins: [] }) !== undefined,
    }
  },
})

export const registerOptions = endpoint({
  access: 'read',
  summary: 'Options for making a passkey, after the person is confirmed',
  input: z.object({ password: z.string().optional() }),
  output: Options,
  async run(ctx, { password }) {
    const { auth, passkeys, settings } = ctx.app
    const cookie = ctx.cookies[SESSION_COOKIE]
    const rp = partyOf(ctx)
    await auth.confirm(cookie, { password, client: signInClient(ctx) })
    const title = settings.get().bot_name
    return {
      ...(await passkeys.registrationOptions(rp, {
        by: auth.signInOf(cookie),
        title,
        person: ctx.person.id,
      })),
    }
  },
})

export const register = endpoint({
  access: 'read',
  summary: 'Add the passkey that the browser made',
  audit: recorded('passkey-added', ({ name }) => name),
  input: z.object({ name: z.string().trim().max(60).default(''), response: Response }),
  output: Ok,
  async run(ctx, { name, response }) {
    const by = ctx.app.auth.signInOf(ctx.cookies[SESSION_COOKIE])
    await ctx.app.passkeys.register(partyOf(ctx), {
      by,
      name,
      person: ctx.person.id,
      response: response as unknown as RegistrationResponseJSON,
    })
    ctx.app.notify('info', 'A passkey was added.', { code: 'passkey_added' })
    return ok
  },
})

const Code = z.string().max(200)

export const joinOptions = endpoint({
  summary: 'Options for making the passkey of an invited person',
  public: true,
  input: z.object({ code: Code }),
  output: Options,
  async run(ctx, { code }) {
    const { invitations, pairingThrottle, passkeys, settings } = ctx.app
    const rp = partyOf(ctx)
    const slot = pairingThrottle.take(ctx.client)
    const { key, person } = invitations.read(code)
    slot.clear()
    const by = byInvitation(key)
    const title = settings.get().bot_name
    return { ...(await passkeys.registrationOptions(rp, { by, title, person: person.id })) }
  },
})

export const joinWith = endpoint({
  summary: 'Accept an invitation with the passkey that the browser made, and sign this browser in',
  public: true,
  audit: recordedSignIn('invitation'),
  input: z.object({ code: Code, response: Response }),
  output: Ok.extend({ name: z.string() }),
  async run(ctx, { code, response }) {
    const { invitations, pairingThrottle, passkeys } = ctx.app
    const rp = partyOf(ctx)
    const slot = pairingThrottle.take(ctx.client)
    const { key, person } = invitations.read(code)
    slot.clear()
    await passkeys.register(rp, {
      by: byInvitation(key),
      name: '',
      person: person.id,
      response: response as unknown as RegistrationResponseJSON,
      // Of two requests with one code, the second must not leave a passkey.
      checkAgain: () => invitations.read(code),
    })
    return { ...ok, name: await join(ctx, key, { how: 'passkey' }) }
  },
})

const Id = z.string().max(2_000)
const unknown = () =>
  missing('This passkey does not exist any more.', { code: 'passkey_not_found' })

export const rename = endpoint({
  access: 'read',
  summary: 'Name a passkey',
  input: z.object({ id: Id, name: z.string().trim().max(60) }),
  output: Ok,
  run(ctx, { id, name }) {
    if (!ctx.app.passkeys.rename(ctx.person.id, id, name)) throw unknown()
    return ok
  },
})

export const remove = endpoint({
  access: 'read',
  audit: recorded('passkey-deleted'),
  summary: 'Delete a passkey, after the person is confirmed; devices stay signed in',
  input: z.object({ id: Id, password: z.string().optional() }),
  output: Ok,
  async run(ctx, { id, password }) {
    const cookie = ctx.cookies[SESSION_COOKIE]
    await ctx.app.auth.confirm(cookie, { password, client: signInClient(ctx) })
    if (!ctx.app.passkeys.delete(ctx.person.id, id)) throw unknown()
    return ok
  },
})

export const options = endpoint({
  summary: 'Options for signing in with a passkey',
  public: true,
  input: z.object({}),
  /** `offered`: there are passkeys for this address, as the sign-in page says too. */
  output: Options.extend({ offered: z.boolean() }),
  async run(ctx) {
    const { auth, passkeys } = ctx.app
    if (!auth.enabled()) throw conflict('Set a password first.', { code: 'password_missing' })
    const rp = partyOf(ctx)
    return { ...(await passkeys.signInOptions(rp)), offered: passkeys.isUsable(rp) }
  },
})

export const login = endpoint({
  summary: 'Sign in with a passkey',
  audit: recordedSignIn('passkey'),
  public: true,
  input: z.object({ response: Response }),
  output: Ok,
  async run(ctx, { response }) {
    const { auth, passkeys, passkeyThrottle } = ctx.app
    if (!auth.enabled()) throw conflict('Set a password first.', { code: 'password_missing' })
    const rp = partyOf(ctx)
    const slot = passkeyThrottle.take(ctx.client)
    const { id, person } = await passkeys.verify(
      rp,
      response as unknown as AuthenticationResponseJSON,
    )
    slot.clear()
    const exists = () => passkeys.list(person).some(each => each.id === id)
    const method = { how: 'passkey' as const, person: person || undefined }
    const cookie = await auth.admit(signInClient(ctx), method, exists)
    ctx.setCookie(sessionCookie(cookie, ctx.client.secure))
    return ok
  },
})
