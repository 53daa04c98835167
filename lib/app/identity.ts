/** Composition: the ways to sign in beside the password. */
import type { Dispatcher } from 'undici'
import type { Identities } from '../auth/identities.ts'
import { createOidc, type Oidc, readClientSecret } from '../auth/oidc.ts'
import { createInvitations, type Invitations } from '../auth/invitations.ts'
import { createPairing, type Pairing } from '../auth/pairing.ts'
import { createPasskeys, type Passkeys } from '../auth/passkeys.ts'
import { openThrottle, type Throttle } from '../auth/throttle.ts'
import type { Composition } from './data.ts'

export type IdentityServices = {
  pairing: Pairing
  passkeys: Passkeys
  identities: Identities
  invitations: Invitations
  /** Undefined: no provider is configured. */
  oidc: Oidc | undefined
  /** Wrong pairing codes, passkeys, and answers of the provider count as wrong passwords do, but apart from them. */
  pairingThrottle: Throttle
  passkeyThrottle: Throttle
  oidcThrottle: Throttle
}

/** Wall clock, in seconds: authenticators, providers, and files of an earlier process use it. */
const wallClock = (): number => Date.now() / 1_000

const composeOidc = (
  { config: { oidc: config }, log, data }: Composition,
  dispatcher: Dispatcher | undefined,
): Oidc | undefined => {
  if (!config) return undefined
  const clientSecret = readClientSecret(config)
  if (clientSecret !== null) data.maskSecret(clientSecret)
  return createOidc({ config, clientSecret, now: wallClock, dispatcher, log })
}

/** `dispatcher`: the proxy for outgoing requests, if one is configured. */
export const composeIdentity = (
  composition: Composition,
  dispatcher: Dispatcher | undefined,
  onPersonRemoved: (id: string) => void,
): IdentityServices => {
  const { data, log, now } = composition
  return {
    pairing: createPairing({ now, isSignedIn: data.auth.isSignedIn }),
    passkeys: createPasskeys({ people: data.people, now: wallClock, log }),
    invitations: createInvitations({
      people: data.people,
      now: wallClock,
      onRemoved: onPersonRemoved,
    }),
    identities: data.identities,
    oidc: composeOidc(composition, dispatcher),
    pairingThrottle: openThrottle(),
    passkeyThrottle: openThrottle(),
    oidcThrottle: openThrottle(),
  }
}
