/** The people of this server: the list, invitations, roles, and a person's own password. */
import { toSeconds } from '../lib/base/clock.ts'
import { z } from 'zod'
import { join } from '../lib/people/invitations.ts'
import { SESSION_COOKIE, signInClient } from '../lib/people/sign-ins.ts'
import { identityKey } from '../lib/people/identities.ts'
import { hasJoined } from '../lib/people/people.ts'
import { recorded, recordedSignIn } from '../lib/people/audit.ts'
import { type Ctx, endpoint } from '../lib/context.ts'
import { forbidden } from '../lib/errors.ts'
import { PROFILE_NAME } from '../lib/schema/ids.ts'
import { Ok, ok } from '../lib/schema/ok.ts'
import { Role } from '../lib/schema/person.ts'

const Shown = z.object({
  id: z.string(),
  name: z.string(),
  role: Role,
  /** Null: all. */
  profiles: z.array(z.string()).nullable(),
  /** Has the password of the server, and can be neither removed nor made a member. */
  first: z.boolean(),
  /** The person who asks. */
  current: z.boolean(),
  /** Seconds since 1970; null: no invitation is open. */
  invited_until: z.number().nullable(),
  /** Whether they have a way to sign in. */
  joined: z.boolean(),
  /** Email address, or name at a trusted proxy, by which single sign-on recognizes them; empty: none. */
  sign_in_as: z.string(),
})
const People = z.object({ people: z.array(Shown) })

const show = ({ app, person }: Ctx): z.output<typeof People> => {
  const now = toSeconds(app.clock.now())
  const first = app.people.owner()
  return {
    people: [first, ...app.people.others()].map(each => ({
      id: each.id,
      name: each.name,
      role: each.role,
      profiles: each.role === 'owner' ? null : (each.profiles ?? []),
      first: each.id === first.id,
      current: each.id === (person.id || first.id),
      invited_until:
        each.invitation && each.invitation.expires_at > now ? each.invitation.expires_at : null,
      joined: each.id === first.id || hasJoined(each),
      sign_in_as: each.sign_in_as ?? '',
    })),
  }
}

const confirm = (ctx: Ctx, password: string | undefined) =>
  ctx.app.auth.confirm(ctx.cookies[SESSION_COOKIE], { password, client: signInClient(ctx) })

/** Accounts that were linked by an earlier name are removed, and their sign-ins end. */
const setSignInName = ({ app }: Ctx, id: string, name: string): void => {
  const { people, identities, auth } = app
  if ((people.of({ id }).sign_in_as ?? '') === name) return
  const before = identities.list(id)
  people.change(id, { sign_in_as: name, identities: [] })
  for (const identity of before) auth.revokeIdentity(identityKey(identity))
}

const SignInName = z.string().trim().max(320)
const Name = z.string().trim().min(1).max(60)
const Profiles = z.array(z.string().regex(PROFILE_NAME, 'Invalid profile name')).max(100)
const Id = z.string().max(64)
const NewPassword = z
  .string()
  .max(5_000)
  .refine(text => text.trim() !== '', 'Enter a password')
const Invited = z.object({
  id: z.string(),
  /** Goes into the fragment of the link, which browsers send to no server. The reply is the only place where it is shown. */
  code: z.string(),
  /** Seconds. */
  expires_in: z.number(),
})

export const list = endpoint({
  summary: 'The people of this server, and open invitations',
  access: 'own',
  cache: 'no-store',
  output: People,
  run: show,
})

export const invite = endpoint({
  once: 'memory',
  summary: 'Invite a person by a link that works once, for 24 hours',
  access: 'own',
  audit: recorded('person-invited', ({ name, role }) => `${name} ${role}`),
  input: z.object({
    name: Name,
    role: Role,
    profiles: Profiles.default([]),
    sign_in_as: SignInName.default(''),
    /** Of the owner, where the sign-in is not a confirmation by itself: the person outlives it. */
    password: z.string().optional(),
  }),
  output: Invited,
  async run(ctx, { password, sign_in_as: signInName, ...fields }) {
    await confirm(ctx, password)
    for (const name of fields.profiles) ctx.app.homes.open(name)
    const invited = ctx.app.invitations.invite(fields)
    setSignInName(ctx, invited.id, signInName)
    return invited
  },
})

export const renew = endpoint({
  once: 'memory',
  summary: 'A new link for an invited person, or for one who has forgotten their password',
  access: 'own',
  audit: recorded('person-invited', ({ id }) => id),
  input: z.object({ id: Id, password: z.string().optional() }),
  output: Invited,
  async run(ctx, { id, password }) {
    await confirm(ctx, password)
    return ctx.app.invitations.renew(id)
  },
})

export const change = endpoint({
  summary: 'Change the name, role or profiles of a person; their open streams end within a second',
  access: 'own',
  audit: recorded('person-changed', ({ id, role }) => `${id} ${role ?? ''}`.trim()),
  input: z.object({
    id: Id,
    name: Name.optional(),
    role: Role.optional(),
    profiles: Profiles.optional(),
    sign_in_as: SignInName.optional(),
    password: z.string().optional(),
  }),
  output: People,
  async run(ctx, { id, password, sign_in_as: signInName, ...fields }) {
    await confirm(ctx, password)
    for (const name of fields.profiles ?? []) ctx.app.homes.open(name)
    ctx.app.invitations.change(id, fields)
    if (signInName !== undefined) setSignInName(ctx, id, signInName)
    return show(ctx)
  },
})

export const remove = endpoint({
  summary: 'Remove a person: their devices are signed out, their chats stay',
  access: 'own',
  audit: recorded('person-removed', ({ id }) => id),
  input: z.object({ id: Id, password: z.string().optional() }),
  output: People,
  async run(ctx, { id, password }) {
    await confirm(ctx, password)
    ctx.app.invitations.remove(id)
    return show(ctx)
  },
})

export const accept = endpoint({
  summary: 'Accept an invitation with a password, and sign this browser in',
  public: true,
  audit: recordedSignIn('invitation'),
  input: z.object({ code: z.string().max(200), password: NewPassword }),
  output: Ok.extend({ name: z.string() }),
  async run(ctx, { code, password }) {
    const { auth, invitations, pairingThrottle } = ctx.app
    const slot = pairingThrottle.take(ctx.client)
    const { key, person } = invitations.read(code)
    slot.clear()
    const hash = await auth.hashFor(person.id, password)
    return { ...ok, name: await join(ctx, key, { how: 'password', password: hash }) }
  },
})

export const setPassword = endpoint({
  summary: 'Change one’s own password; the person’s other devices are signed out',
  access: 'read',
  audit: recorded('password-set'),
  input: z.object({ password: NewPassword, current: z.string().max(5_000).optional() }),
  output: Ok,
  async run(ctx, { password, current }) {
    const { auth, people } = ctx.app
    const { id } = ctx.person
    if (id === '')
      throw forbidden('The password of the server is changed in the settings.', {
        code: 'role_not_allowed',
      })
    await confirm(ctx, current)
    const hash = await auth.hashFor(id, password)
    auth.endPerson(id, ctx.cookies[SESSION_COOKIE])
    people.change(id, { password: hash })
    auth.rebindPerson(ctx.cookies[SESSION_COOKIE], people.of({ id }))
    return ok
  },
})
