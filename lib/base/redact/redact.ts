/** Masks secrets in text that leaves the service or is sent to a model. Nothing else decides what a secret is. */
import { changeWords, Sentence } from '../sentences.ts'
import { systemClock } from '../clock.ts'
import { isObjectOrArray } from '../json.ts'
import { KnownSecrets, type SecretSource } from './known.ts'
import { isMasked } from './shapes.ts'
import { isCuttable, merged, SHORTEST_SHOWN, SHOWN_FIRST, type Span } from './spans.ts'

const secrets = new KnownSecrets(systemClock)

/** Masks the values of this source everywhere. Returns an unsubscribe function. */
export const watchSecrets = (source: SecretSource): (() => void) => secrets.watch(source)

/** Call after a source has changed. */
export const refreshSecrets = (): void => secrets.refresh()

/** Masking the same text gives the same result while this number is the same. */
export const secretsVersion = (): number => secrets.version()

const FULL_MASK = '***'
const SHOWN_LAST = 4

/** Text that is already masked stays as it is. */
const maskOf = (secret: string, as?: string): string => {
  if (as !== undefined) return as
  if (isMasked(secret)) return secret
  const first = secret.slice(0, SHOWN_FIRST)
  if (secret.length < SHORTEST_SHOWN || !isCuttable(first)) return FULL_MASK
  const last = isCuttable(secret.slice(-SHOWN_LAST - 1)) ? secret.slice(-SHOWN_LAST) : '****'
  return `${first}...${last}`
}

/** Quick test, also for JSON text: false is certain, true means `redact` may change something. */
export const isSuspect = (text: string): boolean => secrets.finder().suspects(text).length > 0

/** Start index of each possible secret, for callers that scan many lines at once. */
export const suspectOffsets = (text: string): readonly number[] => secrets.finder().suspects(text)

const applyMasks = (text: string, spans: readonly Span[]): string => {
  if (spans.length === 0) return text
  let out = ''
  let at = 0
  for (const { from, to, as } of spans) {
    out += text.slice(at, from) + maskOf(text.slice(from, to), as)
    at = to
  }
  return out + text.slice(at)
}

/** Includes partial secrets at both ends, because the text may be an excerpt. */
const spansOf = (text: string): Span[] => {
  const { spans } = secrets.finder().analyze(text, true)
  const pieces = [...secrets.cut().start(text), ...secrets.cut().end(text)]
  return pieces.length === 0 ? spans : merged([...spans, ...pieces])
}

export const redact = (text: string): string => applyMasks(text, spansOf(text))

/** Masks only exact known values: in an approval, nothing else of a command may be hidden. */
export const redactKnown = (text: string): string =>
  applyMasks(
    text,
    spansOf(text).filter(span => span.isKnown),
  )

const BACKSLASH = 92

/** Whether the character belongs to an escape sequence (`\\n`), so that masking it would break the JSON around it. */
const isEscaped = (text: string, at: number): boolean => {
  let before = at
  while (text.charCodeAt(before - 1) === BACKSLASH) before--
  return (at - before) % 2 === 1
}

/** Where the strings of a text of JSON are. */
class JsonStrings {
  readonly #text: string
  #at = 0
  #isInside = false

  constructor(text: string) {
    this.#text = text
  }

  /** Whether a position is in one. Asked about positions in their order. */
  contains(position: number): boolean {
    for (; this.#at < position; this.#at++) {
      const char = this.#text[this.#at]
      if (char === '"') this.#isInside = !this.#isInside
      else if (char === '\\' && this.#isInside) this.#at++
      // No string of JSON contains a line break: another frame or line begins.
      else if (char === '\n') this.#isInside = false
    }
    return this.#isInside
  }
}

/** No number that `JSON.stringify` writes is longer. */
const LONGEST_NUMBER = 32
/** A number, numbers of a list, or a whole object or list. */
const BARE = /^(?:[-+.\deE,\s]+|\{[\s\S]*\}|\[[\s\S]*\])$/
const BEFORE_VALUE = /[:,[]\s?(?:[-+.\deE]{0,32})$/
const AFTER_VALUE = /^(?:[-+.\deE]{0,32})\s?[,\]}]/

/**
 * The whole value of JSON, with a string as its mask, where a secret is a value outside of strings: a number, or an object
 * that was known as text. Null where it is not.
 */
const bareValue = (
  text: string,
  { from, to, ...span }: Span,
  strings: JsonStrings,
): Span | null => {
  const secret = text.slice(from, to)
  if (!BARE.test(secret)) return null
  const before = BEFORE_VALUE.exec(text.slice(Math.max(0, from - LONGEST_NUMBER - 2), from))
  const after = AFTER_VALUE.exec(text.slice(to, to + LONGEST_NUMBER + 2))
  if (!before || !after || strings.contains(from)) return null
  return {
    ...span,
    from: from - before[0].replace(/^.\s?/, '').length,
    to: to + after[0].replace(/\s?.$/, '').length,
    as: JSON.stringify(maskOf(secret)),
  }
}

/**
 * Masks exact known values in a text that leaves the process, whoever made it: a frame, a response, a request to another
 * service. JSON stays JSON, and keys of objects are masked too. What is recognized by its format only, or was cut, is masked by
 * those who make the text: here a share link or a new token must pass.
 */
export const maskLeaving = (text: string): string => {
  const values = secrets.values(text)
  if (values.length === 0) return text
  const strings = new JsonStrings(text)
  const spans = values.map(
    span =>
      bareValue(text, span, strings) ??
      (isEscaped(text, span.from) ? { ...span, from: span.from + 1 } : span),
  )
  // Two secrets may be one number.
  return applyMasks(text, merged(spans))
}

/** Buffers that were scanned, and for which secrets: rows and messages are sent again and again. */
const scanned = new WeakMap<Buffer, number>()

/** The same of UTF-8 bytes; the same buffer when there is nothing to mask. */
export const maskLeavingBytes = (bytes: Buffer): Buffer => {
  const version = secrets.version()
  if (scanned.get(bytes) === version) return bytes
  const text = bytes.toString()
  const masked = maskLeaving(text)
  if (masked !== text) return Buffer.from(masked)
  scanned.set(bytes, version)
  return bytes
}

/** Characters of emitted text kept as context: a name (`PASSWORD=`) decides about the value after it. */
const LOOKBACK_CHARS = 256

/**
 * Redacts a stream: the concatenated output equals `redact` of the whole text. It holds back what may be the start of a
 * secret, at most the length of the longest one.
 */
export class StreamRedactor {
  #before = ''
  #isCut = false
  #pending = ''

  #take(final: boolean): string {
    const text = this.#before + this.#pending
    const offset = this.#before.length
    const { spans: whole, pending } = secrets.finder().analyze(text, final)
    const pieces = final ? secrets.cut().end(text) : []
    const spans = pieces.length === 0 ? whole : merged([...whole, ...pieces])
    const stop = Math.max(offset, pending)
    let out = ''
    let at = offset
    for (const { from, to, as } of spans) {
      // The context was cut, so a match at its start is unreliable.
      if (to <= offset || (this.#isCut && from === 0)) continue
      if (to > stop) break
      const mask = maskOf(text.slice(from, to), as)
      if (from >= offset) out += text.slice(at, from) + mask
      else out += mask.startsWith(text.slice(from, offset)) ? mask.slice(offset - from) : FULL_MASK
      at = to
    }
    out += text.slice(at, Math.max(at, stop))
    this.#isCut ||= stop > LOOKBACK_CHARS
    this.#before = text.slice(Math.max(0, stop - LOOKBACK_CHARS), stop)
    this.#pending = text.slice(stop)
    return out
  }

  /** Returns the part of the text so far that can no longer change. */
  push(text: string): string {
    this.#pending += text
    return this.#take(false)
  }

  /** Returns the rest, at the end of the stream. */
  end(): string {
    return this.#take(true)
  }
}

/**
 * Restores short secrets, which are masked as `***` (a rule or emphasis in Markdown). An unchanged line is restored
 * whole; otherwise the text before the mask on its line identifies the secret.
 */
const unredactLines = (edited: string, original: string, spans: readonly Span[]): string => {
  const lines = new Map(original.split('\n').map(line => [redact(line), line]))
  const short = spans
    .filter(({ from, to, as }) => maskOf(original.slice(from, to), as) === FULL_MASK)
    .map(({ from, to }) => {
      const line = original.slice(original.lastIndexOf('\n', from - 1) + 1, from)
      return { before: line, secret: original.slice(from, to) }
    })
    .filter(({ before }) => before.trim() !== '')
  return edited
    .split('\n')
    .map(line => {
      if (!line.includes(FULL_MASK)) return line
      const whole = lines.get(line)
      if (whole !== undefined) return whole
      return short.reduce(
        (text, { before, secret }) => text.replace(before + FULL_MASK, () => before + secret),
        line,
      )
    })
    .join('\n')
}

const oneDot = (mask: string): string => mask.replace('...', '…')

/**
 * Restores the secrets in a text that was read redacted, edited, and sent back, so that an edit destroys no secret of
 * `original`. The k-th of equal masks stands for the k-th secret it hides.
 */
export const unredact = (edited: string, original: string): string => {
  const hidden = new Map<string, string[]>()
  const spans = spansOf(original)
  for (const { from, to, as } of spans) {
    const was = original.slice(from, to)
    const is = maskOf(was, as)
    if (is !== was) hidden.set(is, [...(hidden.get(is) ?? []), was])
  }
  // Models often write three dots as one character.
  for (const [is, was] of [...hidden]) if (is.includes('...')) hidden.set(oneDot(is), was)
  let text = hidden.delete(FULL_MASK) ? unredactLines(edited, original, spans) : edited
  for (const [is, was] of hidden) {
    let at = 0
    text = text.replaceAll(is, () => was[Math.min(at++, was.length - 1)] ?? is)
  }
  return text
}

const countOf = (text: string, part: string): number => text.split(part).length - 1

/** The mask of a known secret in a text, or undefined. */
const maskIn = (text: string): string | undefined =>
  /\.\.\.|…/.test(text)
    ? secrets
        .secrets()
        .map(secret => maskOf(secret))
        .filter(mask => mask !== FULL_MASK)
        .flatMap(mask => [mask, oneDot(mask)])
        .find(mask => text.includes(mask))
    : undefined

/** Why a command that contains a mask cannot work; null when it contains none. */
export const unusableCommand = (command: string): string | null => {
  const mask = maskIn(command)
  return mask === undefined
    ? null
    : `"${mask}" is the mask of a secret. Use the variable or the file that contains it; to change such a file, use patch.`
}

/**
 * Like `unredact`, for writers that must not replace a secret with its mask. Throws when a mask cannot be restored,
 * because it belongs to a secret of another file or its line was rewritten.
 */
export const reveal = (edited: string, original: string): string => {
  const text = unredact(edited, original)
  const foreign = maskIn(text)
  const isNew = foreign !== undefined && countOf(text, foreign) > countOf(original, foreign)
  const view = redact(original)
  const hadStars = countOf(view, FULL_MASK) > countOf(original, FULL_MASK)
  const isLost = hadStars && countOf(text, FULL_MASK) > countOf(original, FULL_MASK)
  if (isNew || isLost)
    throw new Error(
      `Nothing was written: "${isNew ? foreign : FULL_MASK}" in this text is the mask of a secret, and it is not clear of which. Leave its line as it was read, or name the variable that contains the secret.`,
    )
  return text
}

/** The same value with every string redacted, except object keys. */
export const redactValue = <T>(value: T): T => {
  if (typeof value === 'string') return redact(value) as T
  if (Array.isArray(value)) return value.map(redactValue) as T
  if (value instanceof Sentence) return changeWords(value, redact) as T
  if (!isObjectOrArray(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, redactValue(inner)]),
  ) as T
}

/** Redacts one line of JSON. Returned unparsed when there is nothing to mask. */
export const redactJsonLine = (line: string): string =>
  isSuspect(line) ? JSON.stringify(redactValue(JSON.parse(line))) : line
