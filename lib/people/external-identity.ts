/** Identities that someone else vouches for: an OpenID Connect provider, or a trusted proxy. */
import { sha256 } from '../base/sha256.ts'

export type ExternalIdentity = {
  /** The provider's issuer URL, or `proxy`. */
  issuer: string
  /** Unique and permanent for the issuer; for a proxy, the user it names. */
  subject: string
  /** Verified by the issuer. */
  email: string | null
  /** To show. */
  name: string
}

/** The issuer of identities that a trusted proxy names. */
const PROXY_ISSUER = 'proxy'

/** Names an identity in the file of sign-ins. */
export const identityKey = ({ issuer, subject }: Pick<ExternalIdentity, 'issuer' | 'subject'>) =>
  sha256(`${issuer}\n${subject}`).slice(0, 32)

/**
 * Email addresses are the same in upper and lower case. Only ASCII letters are folded: the lower case of the Kelvin sign is
 * "k", and a provider could let someone register it.
 */
const foldCase = (text: string): string =>
  text.includes('@') ? text.replace(/[A-Z]/g, letter => letter.toLowerCase()) : text

/** Whether two names are the same user's: email addresses in any case, other names exactly. */
export const isSameUser = (a: string, b: string): boolean => a !== '' && foldCase(a) === foldCase(b)

/** The identity of a user that a trusted proxy names. */
export const proxyIdentity = (user: string): ExternalIdentity => {
  const subject = foldCase(user)
  return { issuer: PROXY_ISSUER, subject, email: null, name: user }
}

/** What `sign_in_as` of a person is compared with; null: the issuer vouches for nothing but the subject. */
export const signInNameOf = ({ issuer, subject, email }: ExternalIdentity): string | null =>
  issuer === PROXY_ISSUER ? subject : email
