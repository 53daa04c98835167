/** Which passwords can be used, and in which forms one that is typed may have been stored. */
import { invalid } from '../errors.ts'

/** Characters after trimming, in the composed form (NFC). */
export const MAX_PASSWORD_CHARS = 1_024

/** A decomposed letter takes up to four characters. */
const MAX_TYPED_CHARS = MAX_PASSWORD_CHARS * 4

/** Why this password can never be typed into a sign-in form, as a sentence; null when it can. */
export const passwordProblem = (text: string): string | null => {
  const password = text.trim().normalize('NFC')
  if (password.length > MAX_PASSWORD_CHARS)
    return `A password can have at most ${MAX_PASSWORD_CHARS.toLocaleString('en-US')} characters.`
  // A password field of a browser drops line breaks, and a lone surrogate has no bytes of its own.
  if (/[\r\n\0]/.test(password) || !password.isWellFormed())
    return 'A password cannot contain line breaks or characters that are not text.'
  return null
}

/** The form that is hashed. Keyboards differ in whether an accent is a character of its own; NFC is what most send. */
export const normalizePassword = (text: string): string => {
  const problem = passwordProblem(text)
  if (problem !== null) throw invalid(problem, { code: 'invalid_password' })
  return text.trim().normalize('NFC')
}

/** Every form to compare; hashes of earlier versions were made of the text as it was typed. Empty when it cannot be right. */
export const passwordCandidates = (text: string): string[] => {
  const typed = text.trim()
  if (typed === '' || typed.length > MAX_TYPED_CHARS) return []
  const composed = typed.normalize('NFC')
  if (composed.length > MAX_PASSWORD_CHARS) return []
  return [...new Set([composed, typed, typed.normalize('NFD')])]
}
