/** Composition: the ways to sign in beside the password. */
import { createPairing, type Pairing } from '../auth/pairing.ts'
import { createPasskeys, type Passkeys } from '../auth/passkeys.ts'
import { openThrottle, type Throttle } from '../auth/throttle.ts'
import type { Composition } from './data.ts'

export type IdentityServices = {
  pairing: Pairing
  passkeys: Passkeys
  /** Wrong pairing codes and passkeys count as wrong passwords do, but apart from them. */
  pairingThrottle: Throttle
  passkeyThrottle: Throttle
}

/** Wall clock, in seconds: authenticators and files of an earlier process use it. */
const wallClock = (): number => Date.now() / 1_000

export const composeIdentity = ({ data, log, now }: Composition): IdentityServices => ({
  pairing: createPairing({ now, isSignedIn: data.auth.isSignedIn }),
  passkeys: createPasskeys({ people: data.people, now: wallClock, log }),
  pairingThrottle: openThrottle(),
  passkeyThrottle: openThrottle(),
})
