/** People other than the first owner: inviting them by a link that works once, changing what they may do, and removing them. */
import { randomBytes } from 'node:crypto'
import { isSameSecret, sha256 } from '../base/sha256.ts'
import { type Clock, fromSeconds, toSeconds } from '../base/clock.ts'
import { conflict, missing, unauthorized } from '../errors.ts'
import type { Role } from '../schema/person.ts'
import type { People, Person } from './people.ts'

const INVITATION_MS = 86_400_000
/** 160 bits: too many to guess, and the QR code stays small. */
const CODE_BYTES = 20
const MAX_PEOPLE = 100

export type PersonChange = {
  name?: string | undefined
  role?: Role | undefined
  profiles?: readonly string[] | undefined
}

type Options = {
  people: People
  clock: Clock
  /** Ends all sign-ins of a person. */
  onRemoved: (id: string) => void
}

export type Invitations = ReturnType<typeof createInvitations>

export const createInvitations = ({ people, clock, onRemoved }: Options) => {
  const requireName = (name: string, own: string | undefined): void => {
    const holder = people.named(name)
    if (holder && holder.id !== own)
      throw conflict('Someone already has this name.', { code: 'name_taken' })
  }

  const isFirst = (id: string): boolean => id === people.owner().id

  const required = (id: string): Person => {
    const person = people.find(id)
    if (!person) throw missing('This person was removed.', { code: 'person_not_found' })
    return person
  }

  const open = (): { key: string; person: Person }[] =>
    people
      .others()
      .flatMap(person =>
        person.invitation && fromSeconds(person.invitation.expires_at) > clock.now()
          ? [{ key: person.invitation.hash, person }]
          : [],
      )

  const expired = () =>
    unauthorized('This invitation has expired or was already used. Ask for a new one.', {
      code: 'invitation_expired',
    })

  /** A new code; an earlier one of the person no longer works. Only its hash is stored. */
  const newInvitation = () => {
    const code = randomBytes(CODE_BYTES).toString('base64url')
    const expires_at = Math.floor(toSeconds(clock.now() + INVITATION_MS))
    return { code, invitation: { hash: sha256(code), expires_at } }
  }

  return {
    /** Adds a person who can sign in once they have accepted. */
    invite({ name, role, profiles }: { name: string; role: Role; profiles: readonly string[] }) {
      requireName(name, undefined)
      if (people.others().length >= MAX_PEOPLE)
        throw conflict(`There are ${MAX_PEOPLE} people already. Remove someone first.`, {
          code: 'too_many_people',
          values: { max: MAX_PEOPLE },
        })
      const { code, invitation } = newInvitation()
      const id = randomBytes(8).toString('hex')
      people.add({
        id,
        name,
        role,
        profiles: role === 'owner' ? null : [...profiles],
        passkeys: [],
        totp: null,
        identities: [],
        password: null,
        invitation,
        created_at: Math.floor(toSeconds(clock.now())),
      })
      return { id, code, expires_in: toSeconds(INVITATION_MS) }
    },

    /** A new link for a person who has not accepted, or who has forgotten their password; that works until it is replaced. */
    renew(id: string) {
      required(id)
      const { code, invitation } = newInvitation()
      people.change(id, { invitation })
      return { id, code, expires_in: toSeconds(INVITATION_MS) }
    },

    /** Open ones. The key of one names it without its code: challenges and answers of a provider are bound to it. */
    open,

    /** What a code opens. Throws a 401 when it has expired, was used, or never existed. */
    read(code: string): { key: string; person: Person } {
      const given = sha256(code)
      const found = open().find(({ key }) => isSameSecret(key, given))
      if (!found) throw expired()
      return found
    },

    /**
     * Uses the code up: of two requests with one code, the second is refused. `password`: hash of the new one; null when the
     * person joins by other means. An earlier password ends in any case: it was forgotten, or someone else knows it.
     */
    accept(key: string, password: string | null): Person {
      const found = open().find(each => isSameSecret(each.key, key))
      if (!found) throw expired()
      people.change(found.person.id, { invitation: null, password })
      return required(found.person.id)
    },

    change(id: string, { name, role, profiles }: PersonChange): void {
      if (name !== undefined) requireName(name, id)
      if (isFirst(id)) {
        if ((role !== undefined && role !== 'owner') || profiles !== undefined)
          throw conflict('The first owner has the server’s password and always stays an owner.', {
            code: 'first_owner',
          })
        if (name !== undefined) people.update({ name })
        return
      }
      const person = required(id)
      const next = role ?? person.role
      people.change(id, {
        ...(name !== undefined && { name }),
        role: next,
        profiles: next === 'owner' ? null : [...(profiles ?? person.profiles ?? [])],
      })
    },

    remove(id: string): void {
      if (isFirst(id))
        throw conflict('The first owner has the server’s password and always stays an owner.', {
          code: 'first_owner',
        })
      required(id)
      // First, while the sign-ins can still be named; both are on disk when this returns.
      onRemoved(id)
      people.remove(id)
    },
  }
}
