/** Passkeys (WebAuthn): registering, signing in, and the list. User verification is required, so one is enough to sign in. */
import { isIP } from 'node:net'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { type Clock, toSeconds } from '../base/clock.ts'
import { conflict, invalid, unauthorized } from '../errors.ts'
import { Challenges } from './challenges.ts'
import { type Passkey, type People, requireSignIn } from './people.ts'

const MAX_PASSKEYS = 50

/** The host that the browser shows, to which passkeys belong. Their signatures name the origin of the page. */
export type RelyingParty = {
  id: string
  /** As the request names it. */
  origin: string
  /** Other configured origins of this host. */
  allowed: string[]
}

type RequestHost = { host: string; secure: boolean; allowedOrigins: readonly string[] }

/**
 * Of a request. The client chooses the Host header, so it decides only which passkeys count. Browsers give a page of this host
 * at another port signatures as well; `originsOf` is what refuses them.
 */
export const relyingPartyOf = ({
  host,
  secure,
  allowedOrigins,
}: RequestHost): RelyingParty | undefined => {
  const text = `${secure ? 'https' : 'http'}://${host}`
  if (!URL.canParse(text)) return undefined
  const { hostname, origin } = new URL(text)
  // WebAuthn accepts no addresses.
  if (hostname.startsWith('[') || isIP(hostname) !== 0) return undefined
  return {
    id: hostname,
    origin,
    allowed: allowedOrigins.filter(each => new URL(each).hostname === hostname),
  }
}

/** Where a passkey may be used: on the page it was made on, and at configured addresses. */
const originsOf = (key: Passkey, rp: RelyingParty): string[] => [key.origin, ...rp.allowed]

const rejected = () => unauthorized('This passkey was not accepted.', { code: 'passkey_rejected' })

// 300 kB that only people with passkeys need.
const library = () => import('@simplewebauthn/server')

export class Passkeys {
  readonly #people: People
  readonly #clock: Clock
  readonly #log: { warn(text: string): void }
  readonly #challenges: Challenges

  constructor(people: People, clock: Clock, log: { warn(text: string): void }) {
    this.#people = people
    this.#clock = clock
    this.#log = log
    this.#challenges = new Challenges(clock)
  }

  list(person: string): Passkey[] {
    return this.#people.of({ id: person }).passkeys
  }

  /** Whether the sign-in page can offer one. */
  isUsable(rp: RelyingParty): boolean {
    return this.#holders().some(({ passkeys }) =>
      passkeys.some(key => key.rp_id === rp.id && originsOf(key, rp).includes(rp.origin)),
    )
  }

  /** `by`: the sign-in or invitation that registers it, to which the challenge is bound. */
  async registrationOptions(
    rp: RelyingParty,
    { by, title, person }: { by: string; title: string; person: string },
  ) {
    const { id, name, passkeys } = this.#people.of({ id: person })
    if (passkeys.length >= MAX_PASSKEYS)
      throw conflict(`There are ${MAX_PASSKEYS} passkeys already. Delete one first.`, {
        code: 'too_many_passkeys',
        values: { max: MAX_PASSKEYS },
      })
    const { generateRegistrationOptions } = await library()
    return generateRegistrationOptions({
      rpName: title,
      rpID: rp.id,
      userID: Uint8Array.from(Buffer.from(id)),
      userName: person === '' ? title : name,
      userDisplayName: `${title} (${name})`,
      challenge: this.#challenges.create(this.#registration(rp, by)),
      attestationType: 'none',
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      excludeCredentials: passkeys
        .filter(({ rp_id }) => rp_id === rp.id)
        .map(key => ({ id: key.id })),
    })
  }

  async register(
    rp: RelyingParty,
    {
      by,
      name,
      person,
      response,
      checkAgain = () => {},
    }: {
      by: string
      name: string
      person: string
      response: RegistrationResponseJSON
      /** Called in the tick in which it is stored; throws when it must not be any more. */
      checkAgain?: () => void
    },
  ): Promise<Passkey> {
    const { verifyRegistrationResponse } = await library()
    const result = await verifyRegistrationResponse({
      response,
      expectedChallenge: text => this.#challenges.spend(text, this.#registration(rp, by)),
      expectedOrigin: [rp.origin, ...rp.allowed],
      expectedRPID: rp.id,
      requireUserVerification: true,
    }).catch((error: Error) => {
      this.#log.warn(`a passkey was not registered: ${error.message.slice(0, 200)}`)
      return { verified: false as const }
    })
    if (!result.verified)
      throw invalid('The passkey could not be verified. Try again.', { code: 'passkey_rejected' })
    const { credential, origin } = result.registrationInfo
    if (this.#holders().some(({ passkeys }) => passkeys.some(each => each.id === credential.id)))
      throw conflict('This passkey is registered already.', { code: 'passkey_exists' })
    checkAgain()
    const key: Passkey = {
      id: credential.id,
      public_key: Buffer.from(credential.publicKey).toString('base64url'),
      counter: credential.counter,
      transports: credential.transports ?? [],
      rp_id: rp.id,
      origin,
      name,
      created_at: Math.floor(toSeconds(this.#clock.now())),
      last_used_at: null,
    }
    this.#save(person, [...this.list(person), key])
    return key
  }

  /** The browser offers the passkeys it knows for this host; none is named, so nothing about them is disclosed. */
  async signInOptions(rp: RelyingParty) {
    const { generateAuthenticationOptions } = await library()
    return generateAuthenticationOptions({
      rpID: rp.id,
      userVerification: 'required',
      challenge: this.#challenges.create(this.#signIn(rp)),
    })
  }

  /** Throws a 401 unless one of the passkeys signed, of whomever. Its counter is stored before this returns. */
  async verify(
    rp: RelyingParty,
    response: AuthenticationResponseJSON,
  ): Promise<{ id: string; person: string }> {
    const find = () =>
      this.#holders()
        .flatMap(({ id: person, passkeys }) => passkeys.map(key => ({ key, person })))
        .find(({ key }) => key.id === response.id && key.rp_id === rp.id)
    const match = find()
    if (!match) throw rejected()
    const { key } = match
    const { verifyAuthenticationResponse } = await library()
    const result = await verifyAuthenticationResponse({
      response,
      expectedChallenge: text => this.#challenges.spend(text, this.#signIn(rp)),
      expectedOrigin: originsOf(key, rp),
      expectedRPID: rp.id,
      requireUserVerification: true,
      credential: {
        id: key.id,
        publicKey: Uint8Array.from(Buffer.from(key.public_key, 'base64url')),
        counter: key.counter,
      },
    }).catch((error: Error) => {
      this.#log.warn(`a passkey was not accepted: ${error.message.slice(0, 200)}`)
      return undefined
    })
    if (!result?.verified) throw rejected()
    const counter = result.authenticationInfo.newCounter
    // Deleted, or used by a copy of it, while this was verified.
    const current = find()
    if (!current || (counter > 0 && counter <= current.key.counter)) throw rejected()
    const { person } = current
    this.#replace(person, {
      ...current.key,
      counter,
      last_used_at: Math.floor(toSeconds(this.#clock.now())),
    })
    return { id: key.id, person }
  }

  /** False when there is no such passkey. */
  rename(person: string, id: string, name: string): boolean {
    const key = this.list(person).find(each => each.id === id)
    if (key) this.#replace(person, { ...key, name })
    return key !== undefined
  }

  delete(person: string, id: string): boolean {
    const passkeys = this.list(person)
    const rest = passkeys.filter(each => each.id !== id)
    if (rest.length === passkeys.length) return false
    if (person !== '') requireSignIn({ ...this.#people.of({ id: person }), passkeys: rest })
    this.#save(person, rest)
    return true
  }

  #signIn(rp: RelyingParty) {
    return `sign-in ${rp.id}`
  }

  #registration(rp: RelyingParty, by: string) {
    return `register ${rp.id} ${by}`
  }

  /** Everyone with what they have; an empty id is the first owner. */
  #holders(): { id: string; passkeys: Passkey[] }[] {
    return [{ id: '', passkeys: this.#people.owner().passkeys }, ...this.#people.others()]
  }

  #save(person: string, passkeys: Passkey[]): void {
    if (person === '') this.#people.update({ passkeys })
    else this.#people.change(person, { passkeys })
  }

  #replace(person: string, key: Passkey): void {
    this.#save(
      person,
      this.list(person).map(each => (each.id === key.id ? key : each)),
    )
  }
}
