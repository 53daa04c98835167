/** The session cookie's value: a random token and proof that we made it. */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

export const SESSION_COOKIE = 'agent_session'

const SIGNATURE_CHARACTERS = 32

const signatureOf = (key: Buffer, token: string): string =>
  createHmac('sha256', key).update(token).digest('hex').slice(0, SIGNATURE_CHARACTERS)

export const createToken = (): string => randomBytes(32).toString('hex')

export const signToken = (key: Buffer, token: string): string =>
  `${token}.${signatureOf(key, token)}`

/** The token, when the signature is ours. */
export const verifyCookie = (key: Buffer, cookie: string): string | undefined => {
  if (!/^[0-9a-f]{64}\.[0-9a-f]{32}$/.test(cookie)) return undefined
  const [token = '', signature = ''] = cookie.split('.')
  return timingSafeEqual(Buffer.from(signature), Buffer.from(signatureOf(key, token)))
    ? token
    : undefined
}
