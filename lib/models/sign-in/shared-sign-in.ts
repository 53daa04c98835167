/**
 * The copy of the Nous Portal sign-in that newer versions of the host agent share between profiles
 * (`shared/nous_auth.json` of the base home). They trust it more than auth.json, so a sign-in that is renewed in only one
 * of the two files would be lost: the portal revokes a sign-in whose old refresh token is used again.
 */
import { join } from 'node:path'
import { toSeconds } from '../../base/clock.ts'
import { asString, type JsonObject } from '../../base/json.ts'
import { replaceText } from '../../store/atomic-write.ts'
import { type FileLockOptions, withFileLock } from '../../store/flock.ts'
import { isoDate, readAuth } from '../credential-pool/auth-json.ts'
import type { NewTokens } from './request-token.ts'
import { refreshTokenOf, timeMs } from './stored-token.ts'

export const sharedSignInFile = (baseHome: string, env: Readonly<Record<string, string>>): string =>
  join(env.HERMES_SHARED_AUTH_DIR?.trim() || join(baseHome, 'shared'), 'nous_auth.json')

/** Runs `work` under the lock of the shared file, which is taken after the lock of auth.json; null without a file. */
export const withSharedFile = async <T>(
  path: string,
  lock: FileLockOptions,
  work: (shared: JsonObject | null) => Promise<T>,
): Promise<T> => {
  // Check first: a home without the file gets no lock file.
  if (readAuth(path) === null) return work(null)
  return withFileLock(path.replace(/\.json$/, '.lock'), lock, () => work(readAuth(path)))
}

/** The tokens of the shared file when they differ from those of the entry: another program has renewed the sign-in. `now`: milliseconds since 1970. */
export const tokensInShared = (
  shared: JsonObject,
  entry: JsonObject,
  now: number,
): NewTokens | undefined => {
  const [accessToken, refreshToken] = [asString(shared.access_token), refreshTokenOf(shared)]
  if (accessToken === '' || refreshToken === '' || refreshToken === refreshTokenOf(entry))
    return undefined
  const expiresAtMs = timeMs(shared.expires_at)
  const expiresIn = expiresAtMs === undefined ? undefined : toSeconds(expiresAtMs - now)
  return { accessToken, refreshToken, idToken: undefined, expiresIn }
}

/** Copies the tokens of an entry into the shared file. */
export const writeShared = (
  path: string,
  shared: JsonObject,
  entry: JsonObject,
  now: number,
): void => {
  const { access_token, refresh_token, expires_at, obtained_at } = entry
  const tokens = { access_token, refresh_token, expires_at, obtained_at }
  const text = JSON.stringify({ ...shared, ...tokens, updated_at: isoDate(now) }, null, 2)
  replaceText(path, `${text}\n`, { mode: 0o600 })
}
