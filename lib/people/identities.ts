/** Which person an identity of a provider or proxy is. An owner links one while signed in; no one becomes an owner by one. */
import { type Clock, toSeconds } from '../base/clock.ts'
import { conflict, missing } from '../errors.ts'
import { type ExternalIdentity, isSameUser, signInNameOf } from './external-identity.ts'
import { type LinkedIdentity, type People, type Person, requireSignIn } from './people.ts'

const MAX_IDENTITIES = 20

type Named = Pick<ExternalIdentity, 'issuer' | 'subject'>

const isSame = (a: Named, b: Named): boolean => a.issuer === b.issuer && a.subject === b.subject

const isLinked = ({ identities }: Pick<Person, 'identities'>, identity: Named): boolean =>
  identities.some(each => isSame(each, identity))

/** Ids of people are empty for the first owner, as those of callers. */
export class Identities {
  readonly #people: People
  readonly #clock: Clock

  constructor({ people, clock }: { people: People; clock: Clock }) {
    this.#people = people
    this.#clock = clock
  }

  list(person: string): LinkedIdentity[] {
    return this.#people.of({ id: person }).identities
  }

  linkedTo(identity: Named): string | undefined {
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

  unlink(person: string, identity: Named): void {
    const identities = this.list(person)
    const left = identities.filter(each => !isSame(each, identity))
    if (left.length === identities.length)
      throw missing('This account is not linked any more.', { code: 'identity_not_found' })
    if (person !== '') requireSignIn({ ...this.#people.of({ id: person }), identities: left })
    this.#save(person, left)
  }

  #save(person: string, identities: LinkedIdentity[]): void {
    if (person === '') this.#people.update({ identities })
    else this.#people.change(person, { identities })
  }

  /** By the name in the record, if it is that of one person only, who has no account there yet: addresses are given to others. */
  #recordedFor(identity: ExternalIdentity): string | undefined {
    const name = signInNameOf(identity)
    if (name === null) return undefined
    const found = this.#people
      .others()
      .filter(({ role, sign_in_as: own }) => role !== 'owner' && own && isSameUser(own, name))
    const [only] = found
    const isFree = !only?.identities.some(({ issuer }) => issuer === identity.issuer)
    return found.length === 1 && isFree ? only?.id : undefined
  }
}
