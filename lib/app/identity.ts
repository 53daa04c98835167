/** Composition: the ways to sign in beside the password. */
import { createPairing, type Pairing } from '../auth/pairing.ts'
import { openThrottle, type Throttle } from '../auth/throttle.ts'
import type { Composition } from './data.ts'

export type IdentityServices = {
  pairing: Pairing
  /** Wrong pairing codes count as wrong passwords do, but apart from them. */
  pairingThrottle: Throttle
}

export const composeIdentity = ({ data, now }: Composition): IdentityServices => ({
  pairing: createPairing({ now, isSignedIn: data.auth.isSignedIn }),
  pairingThrottle: openThrottle(),
})
