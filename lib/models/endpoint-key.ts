/** Chooses the API key of an endpoint, or throws a UserError that says which key is missing. `canSendKey` in credentials.ts decides which host may get a key. */
import type { SignInReference } from '../agent/types.ts'
import { isLocalUrl } from '../base/local-network.ts'
import { unavailable } from '../errors.ts'
import {
  type Candidate,
  candidatesFor,
  credentialsOf,
  firstAvailable,
  isForeignSignIn,
  needsSignIn,
  unsetKeyVariable,
  unusableKey,
} from './credentials.ts'
import { isEndpoint, PROVIDERS } from './providers.ts'
import { signInExpired } from './sign-in/stored-token.ts'
import type { ModelSetup } from './provider-config.ts'

/** Chooses among the keys that may be sent to the address. */
export type PickKey = (
  setup: ModelSetup,
  provider: string,
  candidates: readonly Candidate[],
) => Candidate | undefined

/** The first usable key, without a pool strategy. */
export const pickFirst: PickKey = ({ now }, _provider, candidates) =>
  firstAvailable(candidates, now)

/** The fields of an endpoint that depend on its key. */
export type EndpointKey = {
  apiKey: string | null
  baseUrl: string
  credential?: { pool: string; id: string }
  signIn?: SignInReference
}

/** Moonshot's coding keys (`sk-kimi-…`) work at this address only. */
const KIMI_CODING = 'https://api.kimi.com/coding/v1'

const addressWith = (key: string, provider: string, url: string): string => {
  const table = PROVIDERS.get('kimi-coding')?.baseUrl ?? ''
  if (provider !== 'kimi-coding' || ![table, KIMI_CODING].includes(url)) return url
  return key.startsWith('sk-kimi-') ? KIMI_CODING : table
}

export type KeyContext = {
  /** The directory of the home. */
  dir: string | null
  provider: string
  url: string
  /** Another key can be tried when this one is rejected. */
  isOneOfMany: boolean
}

export const endpointKey = (
  { key, id, isPooled, signIn }: Candidate,
  { dir, provider, url, isOneOfMany }: KeyContext,
): EndpointKey => ({
  apiKey: key,
  baseUrl: addressWith(key, provider, url),
  ...(signIn && dir !== null ? { signIn: { dir, provider, id } } : {}),
  ...(isPooled || isOneOfMany ? { credential: { pool: provider, id } } : {}),
})

export const resolveKey = (
  setup: ModelSetup,
  provider: string,
  name: string,
  url: string,
  pick: PickKey,
): EndpointKey => {
  const candidates = candidatesFor(setup, provider, url)
  const candidate = pick(setup, provider, candidates)
  if (candidate)
    return endpointKey(candidate, {
      dir: setup.dir,
      provider,
      url,
      isOneOfMany: candidates.length > 1,
    })
  const unusable = unusableKey(setup, provider, url)
  if (unusable)
    throw unavailable(
      unusable.why === 'removed'
        ? `${unusable.name} was removed from the backup that was restored. Enter the key of ${name} again.`
        : `The value of ${unusable.name} cannot be sent as a key, because it has spaces or other characters that keys do not have. Correct it, or pick another model.`,
      {
        code: unusable.why === 'removed' ? 'key_removed_by_backup' : 'key_not_sendable',
        values: { holder: unusable.name, name },
      },
    )
  const unset = isLocalUrl(url) ? null : unsetKeyVariable(setup, provider)
  if (unset !== null) throw keyMissing(name, unset)
  if (isEndpoint(provider) || PROVIDERS.get(provider)?.keyless || isLocalUrl(url))
    return { apiKey: null, baseUrl: url }
  const foreign = credentialsOf(setup, provider).find(isForeignSignIn)
  if (foreign)
    throw unavailable(
      `${foreign.name} holds a sign-in of another program, and ${name} works with an API key only. Set ANTHROPIC_API_KEY in the .env file of this profile, or pick another model.`,
      { code: 'key_of_other_program', values: { holder: foreign.name, name } },
    )
  if (needsSignIn(setup, provider))
    throw unavailable(signInExpired(name), { code: 'provider_sign_in_expired', values: { name } })
  const [credential] = credentialsOf(setup, provider)
  if (credential)
    throw unavailable(
      `${credential.name} is a key of ${name} and is not sent to ${new URL(url).host}. Write the key for that address as model.api_key in config.yaml, or pick another model.`,
      {
        code: 'key_not_for_host',
        values: { holder: credential.name, name, host: new URL(url).host },
      },
    )
  const facts = PROVIDERS.get(provider)
  if (facts?.oauth)
    throw unavailable(
      `${name} is not signed in. Sign in with the command line, or pick another model.`,
      { code: 'provider_not_signed_in', values: { name } },
    )
  throw keyMissing(name, facts?.keys[0])
}

const keyMissing = (name: string, variable: string | undefined) => {
  const advice = variable ? `Set ${variable} in the .env file of this profile` : 'Add one'
  return unavailable(`${name} has no API key. ${advice}, or pick another model.`, {
    code: 'key_missing',
    values: { name },
  })
}
