/** Hides credentials in text that leaves the service; what is on disk stays as it was written. */

const TOKEN =
  /(?<![A-Za-z0-9_-])(?:(?:sk-|ghp_|github_pat_|gh[ousr]_|xox[baprs]-|hf_)[A-Za-z0-9_-]{10,}|SG\.[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]+)?)/g
const AWS = /(?<![A-Za-z0-9])AKIA[A-Z0-9]{16}(?![A-Za-z0-9])/g
const BEARER = /(authorization\\*["']?[ \t]*:[ \t]*\\*["']?bearer[ \t]+)([^\s"'\\,;<>]+)/gi
/** Backslashes: the assignment may stand inside JSON text inside a string. A value without a letter or digit is a placeholder. */
const ASSIGNMENT =
  /(?<![A-Z0-9_])([A-Z0-9_]{0,64}(?:API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH)[A-Z0-9_]{0,64}[ \t]*=[ \t]*\\*["']?)(?=[^\s"'`\\]*[A-Za-z0-9])([^\s"'`\\]+)/g
/** Bounded, or a text of many beginnings without an end would take quadratic time. */
const PRIVATE_KEY =
  /-----BEGIN[A-Z ]{0,40}PRIVATE KEY-----(?:[\s\S]{0,8192}?-----END[A-Z ]{0,40}PRIVATE KEY-----|(?:(?:\s|\\+[nr])*[A-Za-z0-9+/=]{16,})*)/g

/**
 * Says quickly that there is nothing to hide. Must hit whatever one of the patterns above hits, in plain
 * text and in the same text inside JSON (where white space may be written as an escape).
 */
const SUSPECT =
  /(?:sk-|gh[pousr]_|github_pat_|xox[baprs]-|hf_|SG\.)[A-Za-z0-9_-]{10}|AKIA[A-Z0-9]{16}|[Aa][Uu][Tt][Hh][Oo][Rr][Ii][Zz][Aa][Tt][Ii][Oo][Nn]\\*["']?(?:[ \t]|\\+t)*:|(?:API_?KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL|AUTH)[A-Z0-9_]{0,64}(?:[ \t]|\\+t)*=|PRIVATE KEY-----/

const NOTHING_LEFT = '***'
const MASKED = /^(?:\*\*\*|.{6}\.\.\..{4})$/

/** What an earlier pass hid stays as it is. */
const mask = (secret: string): string => {
  if (MASKED.test(secret)) return secret
  return secret.length >= 18 ? `${secret.slice(0, 6)}...${secret.slice(-4)}` : NOTHING_LEFT
}

/** False is certain, true means: look closer. Takes JSON text as well. */
export const isSuspect = (text: string): boolean => SUSPECT.test(text)

/** Start of each suspect place, for callers that look through many lines at once. */
export function* suspectPlaces(text: string): Generator<number> {
  for (const match of text.matchAll(new RegExp(SUSPECT, 'g'))) yield match.index
}

/** `hidden` is told what stood in the text and what stands there now. */
const hide = (text: string, hidden: (was: string, is: string) => void): string => {
  if (!isSuspect(text)) return text
  const swap =
    (make: (whole: string, ...groups: string[]) => string) =>
    (whole: string, ...groups: string[]) => {
      const is = make(whole, ...groups)
      if (is !== whole) hidden(whole, is)
      return is
    }
  const assigned = swap((_, head = '', secret = '') => head + mask(secret))
  return text
    .replace(
      PRIVATE_KEY,
      swap(() => '[REDACTED PRIVATE KEY]'),
    )
    .replace(BEARER, assigned)
    .replace(ASSIGNMENT, assigned)
    .replace(TOKEN, swap(mask))
    .replace(AWS, swap(mask))
}

export const redact = (text: string): string => hide(text, () => undefined)

/** A short secret leaves three stars, which in Markdown mean something else: only a line that was left alone tells which are which. */
const unredactLines = (edited: string, stored: string): string => {
  const lines = new Map(stored.split('\n').map(line => [redact(line), line]))
  return edited
    .split('\n')
    .map(line => (line.includes(NOTHING_LEFT) ? (lines.get(line) ?? line) : line))
    .join('\n')
}

/**
 * A text that was read redacted, edited and sent back: what `redact` had hidden of `stored` stands in it again, so that an
 * edit through the page destroys no secret. The k-th of equal masks stands for the k-th of what it hides.
 */
export const unredact = (edited: string, stored: string): string => {
  const hidden = new Map<string, string[]>()
  hide(stored, (was, is) => hidden.set(is, [...(hidden.get(is) ?? []), was]))
  let text = hidden.delete(NOTHING_LEFT) ? unredactLines(edited, stored) : edited
  // The last that was hidden is the outermost: an assignment's value may have been a token as well.
  for (const [is, was] of [...hidden].reverse()) {
    let at = 0
    text = text.replaceAll(is, () => was[Math.min(at++, was.length - 1)] ?? is)
  }
  return text
}

/** The same value with every text in it redacted, keys excepted. */
export const redactValue = <T>(value: T): T => {
  if (typeof value === 'string') return redact(value) as T
  if (Array.isArray(value)) return value.map(redactValue) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, redactValue(inner)]),
  ) as T
}

/** One JSON text in, one out; untouched and unparsed when there is nothing to hide. */
export const redactJsonLine = (line: string): string =>
  isSuspect(line) ? JSON.stringify(redactValue(JSON.parse(line))) : line
