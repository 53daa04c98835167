/** The session cookie: a random token with an HMAC that proves this server issued it. */
import { createHmac, randomBytes } from 'node:crypto'
import { isSameSecret } from '../base/sha256.ts'
import { toSeconds } from '../base/clock.ts'
import { formatCookie } from '../http/cookies.ts'
import { PAIRED_LIFETIME_MS, SIGN_IN_LIFETIME_MS } from './login-sessions.ts'

export const SESSION_COOKIE = 'agent_session'

const SIGNATURE_CHARACTERS = 32

const signatureOf = (key: Buffer, token: string): string =>
  createHmac('sha256', key).update(token).digest('hex').slice(0, SIGNATURE_CHARACTERS)

export const createToken = (): string => randomBytes(32).toString('hex')

export const signToken = (key: Buffer, token: string): string =>
  `${token}.${signatureOf(key, token)}`

/** The token; undefined when the signature is not valid. */
export const verifyCookie = (key: Buffer, cookie: string): string | undefined => {
  if (!/^[0-9a-f]{64}\.[0-9a-f]{32}$/.test(cookie)) return undefined
  const [token = '', signature = ''] = cookie.split('.')
  return isSameSecret(signature, signatureOf(key, token)) ? token : undefined
}

/** The `Set-Cookie` header of a sign-in. */
export const sessionCookie = (value: string, secure: boolean, isPaired = false): string =>
  formatCookie(SESSION_COOKIE, value, {
    maxAge: toSeconds(isPaired ? PAIRED_LIFETIME_MS : SIGN_IN_LIFETIME_MS),
    secure,
  })
