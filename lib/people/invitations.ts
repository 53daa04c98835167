/** People other than the first owner: inviting them by a link that works once, joining, changing what they may do, and removing them. */
import { randomBytes } from 'node:crypto'
import { isSameSecret, sha256 } from '../base/sha256.ts'
import { type Clock, fromSeconds, toSeconds } from '../base/clock.ts'
import type { Ctx } from '../context.ts'
import { conflict, missing, unauthorized } from '../errors.ts'
import type { Role } from '../schema/person.ts'
import type { People, Person } from './people.ts'
import { type MadeBy, SESSION_COOKIE, sessionCookie, signInClient } from './sign-ins.ts'

const INVITATION_MS = 86_400_000
/** 160 bits: too many to guess, and the QR code stays small. */
const CODE_BYTES = 20
const MAX_PEOPLE = 100

export type PersonChange = {
  name?: string | undefined
  role?: Role | undefined
  profiles?: readonly string[] | undefined
}

export class Invitations {
  readonly #people: People
  readonly #clock: Clock
  readonly #onRemoved: (id: string) => void

  /** `onRemoved` ends all sign-ins of a person. */
  constructor(people: People, clock: Clock, onRemoved: (id: string) => void) {
    this.#people = people
    this.#clock = clock
    this.#onRemoved = onRemoved
  }

  open(): { key: string; person: Person }[] {
    return this.#people
      .others()
      .flatMap(person =>
        person.invitation && fromSeconds(person.invitation.expires_at) > this.#clock.now()
          ? [{ key: person.invitation.hash, person }]
          : [],
      )
  }

  /** Adds a person who can sign in once they have accepted. */
  invite({ name, role, profiles }: { name: string; role: Role; profiles: readonly string[] }) {
    this.#requireName(name, undefined)
    if (this.#people.others().length >= MAX_PEOPLE)
      throw conflict(`There are ${MAX_PEOPLE} people already. Remove someone first.`, {
        code: 'too_many_people',
        values: { max: MAX_PEOPLE },
      })
    const { code, invitation } = this.#newInvitation()
    const id = randomBytes(8).toString('hex')
    this.#people.add({
      id,
      name,
      role,
      profiles: role === 'owner' ? null : [...profiles],
      passkeys: [],
      totp: null,
      identities: [],
      password: null,
      invitation,
      created_at: Math.floor(toSeconds(this.#clock.now())),
    })
    return { id, code, expires_in: toSeconds(INVITATION_MS) }
  }

  /** A new link for a person who has not accepted, or who has forgotten their password; that works until it is replaced. */
  renew(id: string) {
    this.#required(id)
    const { code, invitation } = this.#newInvitation()
    this.#people.change(id, { invitation })
    return { id, code, expires_in: toSeconds(INVITATION_MS) }
  }

  /** What a code opens. Throws a 401 when it has expired, was used, or never existed. */
  read(code: string): { key: string; person: Person } {
    const hash = sha256(code)
    const invitation = this.open().find(({ key }) => isSameSecret(key, hash))
    if (!invitation) throw this.#expired()
    return invitation
  }

  /**
   * Uses the code up: of two requests with one code, the second is refused. `password`: hash of the new one; null when the
   * person joins by other means. An earlier password ends in any case: it was forgotten, or someone else knows it.
   */
  accept(key: string, password: string | null): Person {
    const invitation = this.open().find(each => isSameSecret(each.key, key))
    if (!invitation) throw this.#expired()
    this.#people.change(invitation.person.id, { invitation: null, password })
    return this.#required(invitation.person.id)
  }

  change(id: string, { name, role, profiles }: PersonChange): void {
    if (name !== undefined) this.#requireName(name, id)
    if (this.#isFirst(id)) {
      if ((role !== undefined && role !== 'owner') || profiles !== undefined)
        throw conflict('The first owner has the server’s password and always stays an owner.', {
          code: 'first_owner',
        })
      if (name !== undefined) this.#people.update({ name })
      return
    }
    const person = this.#required(id)
    const next = role ?? person.role
    this.#people.change(id, {
      ...(name !== undefined && { name }),
      role: next,
      profiles: next === 'owner' ? null : [...(profiles ?? person.profiles ?? [])],
    })
  }

  remove(id: string): void {
    if (this.#isFirst(id))
      throw conflict('The first owner has the server’s password and always stays an owner.', {
        code: 'first_owner',
      })
    this.#required(id)
    // First, while the sign-ins can still be named; both are on disk when this returns.
    this.#onRemoved(id)
    this.#people.remove(id)
  }

  #requireName(name: string, own: string | undefined): void {
    const holder = this.#people.byName(name)
    if (holder && holder.id !== own)
      throw conflict('Someone already has this name.', { code: 'name_taken' })
  }

  #isFirst(id: string): boolean {
    return id === this.#people.owner().id
  }

  #required(id: string): Person {
    const person = this.#people.find(id)
    if (!person) throw missing('This person was removed.', { code: 'person_not_found' })
    return person
  }

  #expired() {
    return unauthorized('This invitation has expired or was already used. Ask for a new one.', {
      code: 'invitation_expired',
    })
  }

  /** A new code; an earlier one of the person no longer works. Only its hash is stored. */
  #newInvitation() {
    const code = randomBytes(CODE_BYTES).toString('base64url')
    const expires_at = Math.floor(toSeconds(this.#clock.now() + INVITATION_MS))
    return { code, invitation: { hash: sha256(code), expires_at } }
  }
}

/** `key`: of the invitation, for challenges and answers of a provider that count for it only. */
export const byInvitation = (key: string): string => `invitation ${key}`

/**
 * Uses the invitation up and signs this browser in. Sign-ins of an earlier password end. `password`: hash of the new one; null
 * when the person signs in by other means. Returns the name of the person.
 */
export const join = async (
  ctx: Ctx,
  key: string,
  { password = null, ...method }: Omit<MadeBy, 'person'> & { password?: string | null },
): Promise<string> => {
  const { auth, invitations } = ctx.app
  const { id, name } = invitations.accept(key, password)
  auth.endPerson(id)
  const cookie = await auth.admit(signInClient(ctx), { ...method, person: id })
  // Otherwise a browser in which someone else is signed in would keep that sign-in.
  auth.logout(ctx.cookies[SESSION_COOKIE])
  ctx.setCookie(sessionCookie(cookie, ctx.client.secure))
  ctx.app.notify('info', `${name} has joined.`, { code: 'person_joined', values: { name } })
  return name
}
