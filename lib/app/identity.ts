/** Composition: the ways to sign in beside the password. */
import type { Dispatcher } from 'undici'
import type { Identities } from '../people/identities.ts'
import { createOidc, type Oidc, readClientSecret } from '../people/oidc.ts'
import { createInvitations, type Invitations } from '../people/invitations.ts'
import { createPairing, type Pairing } from '../people/pairing.ts'
import { createPasskeys, type Passkeys } from '../people/passkeys.ts'
import { openThrottle, type Throttle } from '../people/throttle.ts'
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

const composeOidc = (
  { config: { oidc: config }, log, clock, data }: Composition,
  dispatcher: Dispatcher | undefined,
): Oidc | undefined => {
  if (!config) return undefined
  const clientSecret = readClientSecret(config)
  if (clientSecret !== null) data.maskSecret(clientSecret)
  return createOidc({ config, clientSecret, clock, dispatcher, log })
}

/** `dispatcher`: the proxy for outgoing requests, if one is configured. */
export const composeIdentity = (
  composition: Composition,
  dispatcher: Dispatcher | undefined,
  onPersonRemoved: (id: string) => void,
): IdentityServices => {
  const { data, log, clock } = composition
  return {
    pairing: createPairing({ clock, isSignedIn: data.auth.isSignedIn }),
    passkeys: createPasskeys({ people: data.people, clock, log }),
    invitations: createInvitations({
      people: data.people,
      clock,
      onRemoved: onPersonRemoved,
    }),
    identities: data.identities,
    oidc: composeOidc(composition, dispatcher),
    pairingThrottle: openThrottle({ clock }),
    passkeyThrottle: openThrottle({ clock }),
    oidcThrottle: openThrottle({ clock }),
  }
}
