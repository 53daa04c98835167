/**
 * Sign-ins of users that a trusted proxy names: one device for each person and user agent. The cookie alone proves nothing,
 * each request needs the header too; it is what ends the streams of a browser whose user changes or disappears.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { signToken } from './cookie.ts'
import { identityKey, proxyIdentity } from './external-identity.ts'
import type { Identities } from './identities.ts'
import type { SignIn, SignIns } from './login-sessions.ts'
import type { SignInClient } from './auth.ts'

/** For one user: user agents are free text. */
const MAX_DEVICES = 20
const MAX_AGENT_CHARS = 200

type Parts = {
  key: Buffer
  signIns: SignIns
  identities: Pick<Identities, 'personOf'> | undefined
  lookup: {
    isBound(entry: SignIn): boolean
    end(matches: (entry: SignIn) => boolean): number
    clearCache(): void
  }
  /** A user has signed in on a new device. */
  onSignIn?: ((client: SignInClient, user: string) => void) | undefined
  /** What sign-ins are bound to; undefined: no one can sign in but with the setup token. `person`: absent for the first owner. */
  fingerprint(person: string | undefined): string | undefined
}

export const createProxySignIns = (parts: Parts) => {
  const { key, signIns, identities, lookup, fingerprint, onSignIn } = parts

  /** Not stored: it can be made again for another browser with the same user agent. */
  const tokenOf = (salt: string): string =>
    createHmac('sha256', key).update(`proxy ${salt}`).digest('hex')

  const devicesOf = (identity: string): SignIn[] =>
    signIns.list().filter(entry => entry.how === 'proxy' && entry.identity === identity)

  return {
    /** Whether the header still vouches for this sign-in. One for which it does not is ended, and its streams with it. */
    accepts(entry: SignIn, user: string | undefined): boolean {
      if (entry.how !== 'proxy') return true
      const identity = user === undefined ? undefined : proxyIdentity(user)
      const isSame =
        identity !== undefined &&
        entry.identity === identityKey(identity) &&
        identities?.personOf(identity) === (entry.person ?? '')
      if (!isSame) lookup.end(({ hash }) => hash === entry.hash)
      return isSame
    },

    /** Signs the user in; the value of the cookie. Undefined when no person is this user. */
    admit(user: string, client: () => SignInClient): string | undefined {
      const identity = proxyIdentity(user)
      const id = identities?.personOf(identity)
      if (id === undefined) return undefined
      const person = id || undefined
      const under = fingerprint(person)
      if (under === undefined) return undefined
      const from = client()
      const { address, agent = '' } = from
      const name = identityKey(identity)
      const devices = devicesOf(name)
      const known = devices.find(
        entry => entry.agent === agent.slice(0, MAX_AGENT_CHARS) && lookup.isBound(entry),
      )
      if (known?.salt !== undefined && known.person === person)
        return signToken(key, tokenOf(known.salt))
      const oldest = devices.at(0)
      if (devices.length >= MAX_DEVICES) lookup.end(entry => entry.hash === oldest?.hash)
      // Adding one may remove the oldest of all, which may be cached.
      lookup.clearCache()
      const salt = randomBytes(16).toString('hex')
      const token = tokenOf(salt)
      signIns.add(token, { address, agent, under, how: 'proxy', identity: name, person, salt })
      onSignIn?.(from, user)
      return signToken(key, token)
    },
  }
}
