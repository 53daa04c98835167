/** What a sign-in is made of: the client that asked for it, and the session cookie, a random token with an HMAC that proves this server issued it. */
import { createHmac, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { isSameSecret } from '../base/sha256.ts'
import { toSeconds } from '../base/clock.ts'
import { formatCookie } from '../http/cookies.ts'
import { PAIRED_LIFETIME_MS, SIGN_IN_LIFETIME_MS } from './login-sessions.ts'
import type { ClientAddress } from './throttle.ts'

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

/** Who signs in: the address for the throttle, the user agent for the list of devices. */
export type SignInClient = ClientAddress & { agent?: string | undefined }

type Request = { client: { address: string; via: string | undefined }; req: IncomingMessage }

/** The client of a request as sign-ins record it. */
export const signInClient = ({ client, req }: Request): SignInClient => ({
  address: client.address,
  via: client.via,
  agent: req.headers['user-agent'],
})

const ACCOUNT_CHARACTERS = 16
/** Who signs in with the password, and who uses a server without one. */
const OWNER_ACCOUNT = 'owner'

/**
 * A name for the person who is signed in, by which their browser tags what it stores. The same for all sign-ins of a person;
 * another one on another installation, which may have the same address. Not secret.
 */
export const accountOf = (key: Buffer, person: string = OWNER_ACCOUNT): string =>
  createHmac('sha256', key).update(`account\n${person}`).digest('hex').slice(0, ACCOUNT_CHARACTERS)
