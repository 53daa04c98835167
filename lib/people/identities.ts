/**
 * Identities that someone else vouches for, an OpenID Connect provider or a trusted proxy, and which person each is. An owner
 * links one while signed in; no one becomes an owner by one.
 */
import { type Clock, toSeconds } from '../base/clock.ts'
import { sha256 } from '../base/sha256.ts'
import { conflict, missing } from '../errors.ts'
import { type LinkedIdentity, type People, type Person, requireSignIn } from './people.ts'

export type ExternalIdentity = {
  /** The provider's issuer URL, or `proxy`. */
  issuer: string
  /** Unique and permanent for the issuer; for a proxy, the user it names. */
  subject: string
  /** Verified by the issuer. */
  email: string | null
  /** To show. */
  name: string
}

/** The issuer of identities that a trusted proxy names. */
const PROXY_ISSUER = 'proxy'

/** Together unique. */
type IdentityNames = { issuer: string; subject: string }

/** Names an identity in the file of sign-ins. */
export const identityKey = ({ issuer, subject }: IdentityNames) =>
  sha256(`${issuer}\n${subject}`).slice(0, 32)

/**
 * Email addresses are the same in upper and lower case. Only ASCII letters are folded: the lower case of the Kelvin sign is
 * "k", and a provider could let someone register it.
 */
const foldCase = (text: string): string =>
  text.includes('@') ? text.replace(/[A-Z]/g, letter => letter.toLowerCase()) : text

/** Whether two names are the same user's: email addresses in any case, other names exactly. */
export const isSameUser = (a: string, b: string): boolean => a !== '' && foldCase(a) === foldCase(b)

/** The identity of a user that a trusted proxy names. */
export const proxyIdentity = (user: string): ExternalIdentity => {
  const subject = foldCase(user)
  return { issuer: PROXY_ISSUER, subject, email: null, name: user }
}

/** What `sign_in_as` of a person is compared with; null: the issuer vouches for nothing but the subject. */
const signInNameOf = ({ issuer, subject, email }: ExternalIdentity): string | null =>
  issuer === PROXY_ISSUER ? subject : email

const MAX_IDENTITIES = 20

const isSame = (a: IdentityNames, b: IdentityNames): boolean =>
  a.issuer === b.issuer && a.subject === b.subject

const isLinked = ({ identities }: Person, identity: IdentityNames): boolean =>
  identities.some(each => isSame(each, identity))

/** Ids of people are empty for the first owner, as those of callers. */
export class Identities {
  readonly #people: People
  readonly #clock: Clock

  constructor(people: People, clock: Clock) {
    this.#people = people
    this.#clock = clock
  }

  list(person: string): LinkedIdentity[] {
    return this.#people.of({ id: person }).identities
  }

  linkedTo(identity: IdentityNames): string | undefined {
    return isLinked(this.#people.owner(), identity)
      ? ''
      : this.#people.others().find(each => isLinked(each, identity))?.id
  }

  link(person: string, identity: ExternalIdentity): void {
    const holder = this.linkedTo(identity)
    if (holder === person) return
    if (holder !== undefined)
      throw conflict('This account is linked to another person.', { code: 'identity_in_use' })
    const identities = this.list(person)
    if (identities.length >= MAX_IDENTITIES)
      throw conflict(`There are ${MAX_IDENTITIES} linked accounts already. Remove one first.`, {
        code: 'too_many_identities',
        values: { max: MAX_IDENTITIES },
      })
    const { issuer, subject, name } = identity
    const linked_at = Math.floor(toSeconds(this.#clock.now()))
    this.#save(person, [...identities, { issuer, subject, name, linked_at }])
  }

  /** Whose it is; undefined: no one's. */
  personOf(identity: ExternalIdentity): string | undefined {
    return this.linkedTo(identity) ?? this.#recordedFor(identity)
  }

  unlink(person: string, identity: IdentityNames): void {
    const identities = this.list(person)
    const rest = identities.filter(each => !isSame(each, identity))
    if (rest.length === identities.length)
      throw missing('This account is not linked any more.', { code: 'identity_not_found' })
    if (person !== '') requireSignIn({ ...this.#people.of({ id: person }), identities: rest })
    this.#save(person, rest)
  }

  #save(person: string, identities: LinkedIdentity[]): void {
    if (person === '') this.#people.update({ identities })
    else this.#people.change(person, { identities })
  }

  /** By the name in the record, if it is that of one person only, who has no account there yet: addresses are given to others. */
  #recordedFor(identity: ExternalIdentity): string | undefined {
    const name = signInNameOf(identity)
    if (name === null) return undefined
    const matches = this.#people
      .others()
      .filter(({ role, sign_in_as: own }) => role !== 'owner' && own && isSameUser(own, name))
    const [only] = matches
    const isFree = !only?.identities.some(({ issuer }) => issuer === identity.issuer)
    return matches.length === 1 && isFree ? only?.id : undefined
  }
}
