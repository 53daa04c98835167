/** Which values are masked by value, and the encodings in which programs write them. */

/** Placeholder values of templates, keyless servers, and examples. */
const PLACEHOLDER =
  /^(?:sk-)?(?:no|not|none|null|nil|true|false|undefined|your|my|some|the|an?|dummy|example|sample|test|testing|placeholder|change|insert|replace|todo|fake|demo|local|ollama|lm|default|optional|required|empty|unused|redacted|hidden)(?:[-_ ](?:no|not|needed|required|used|set|key|api|token|secret|password|here|me|it|this|with|value|key|studio|local|demo|test|your|my|own))*$|^[*x•.…_-]+$|^<.*>$|^\$\{?[A-Za-z_]\w*\}?$|^\[REDACTED/i

const LONGEST = 16_384

/** One word, or words joined by one kind of separator: could appear in ordinary text. */
const WORDS = /^[A-Za-z]+(?:([-_. ])[A-Za-z]+(?:\1[A-Za-z]+)*)?$/

const PATH = /^(?:[~.]{1,2}\/|[A-Za-z]:\\|\/(?:[a-z]+|Users|Library|Applications|Volumes)\/)/

/**
 * Whether a value is masked everywhere. Anything shorter than eight characters could be an ordinary word or number and
 * is masked only after its name (`PASSWORD=…`). Digits alone could be a date or an id, letters alone a word, so they
 * must be longer.
 */
export const isDistinctive = (value: string): boolean => {
  if (value.length < 8 || value.length > LONGEST || PLACEHOLDER.test(value)) return false
  if (new Set(value).size < 5) return false
  if (/^\d+$/.test(value)) return value.length >= 12
  if (/^[\d.:,/ -]+$/.test(value)) return value.length >= 16
  if (WORDS.test(value)) return value.length >= (/[-_. ]/.test(value) ? 20 : 16)
  // Paths are common in answers and are not secret.
  return !PATH.test(value)
}

/** The password in a URL, or null. */
const passwordIn = (value: string): string | null => {
  const password = /^[A-Za-z][\w+.-]*:\/\/[^\s/?#@:]*:([^\s/?#@]+)@/.exec(value)?.[1]
  return password ?? null
}

const isAddress = (value: string): boolean => /^[A-Za-z][\w+.-]*:\/\//.test(value)

const decodedBasic = (value: string): string[] => {
  const text = Buffer.from(value, 'base64').toString('utf8')
  const password = text.slice(text.indexOf(':') + 1)
  return text.includes(':') && !text.includes('\ufffd') ? [password] : []
}

/** The secrets inside a secret setting: the credential of `Bearer x` and `Basic x`, the password of a URL, else the value. */
export const secretsInValue = (value: string): string[] => {
  const text = value.trim()
  const header = /^(bearer|basic|token|bot|apikey|key)[ \t]+(\S+)$/i.exec(text)
  const [, scheme = '', credential = ''] = header ?? []
  const all = isAddress(text)
    ? [passwordIn(text) ?? '']
    : header
      ? [credential, ...(/^basic$/i.test(scheme) ? decodedBasic(credential) : [])]
      : [text]
  return all.filter(isDistinctive)
}

/** Base64 at a byte offset, without the characters that depend on the bytes around the secret. */
const base64At = (bytes: Buffer, offset: number): string => {
  const padded = Buffer.concat([Buffer.alloc(offset), bytes])
  const whole = Math.floor((padded.length * 8) / 6)
  return padded.toString('base64').slice(Math.ceil((offset * 8) / 6), whole)
}

const percent = (text: string): string =>
  [...Buffer.from(text)]
    .map(byte => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`)
    .join('')

const urlEncoded = (text: string): string[] => {
  // A lone surrogate can't be URL-encoded.
  if (!text.isWellFormed()) return []
  const usual = encodeURIComponent(text)
  const strict = usual.replace(/[!'()*]/g, percent)
  const form = new URLSearchParams([['', text]]).toString().slice(1)
  return [usual, strict, form, ...[usual, strict].map(lower)]
}

const lower = (text: string): string => text.replace(/%[0-9A-F]{2}/g, code => code.toLowerCase())

const jsonEscaped = (text: string): string => JSON.stringify(text).slice(1, -1)

/** As is, JSON-escaped up to three times (a file of JSON in a tool result in an event), URL-encoded, in base64 at every offset, and in hexadecimal. */
export const spellingsOf = (secret: string): string[] => {
  const bytes = Buffer.from(secret)
  const base64 = [0, 1, 2].map(offset => base64At(bytes, offset))
  const hex = bytes.toString('hex')
  return [
    ...new Set([
      secret,
      jsonEscaped(secret),
      jsonEscaped(jsonEscaped(secret)),
      jsonEscaped(jsonEscaped(jsonEscaped(secret))),
      // Journals are searched as bytes.
      bytes.toString('latin1'),
      ...urlEncoded(secret),
      ...base64,
      ...base64.map(text => text.replaceAll('+', '-').replaceAll('/', '_')),
      hex,
      hex.toUpperCase(),
    ]),
  ].filter(text => text.length >= 8)
}
