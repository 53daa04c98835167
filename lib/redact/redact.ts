/** Hides credentials in text that leaves the service or is read by a model; `lib/redact/` finds them. */
import { isObjectOrArray } from '../base/json.ts'
import { createKnown, type SecretSource } from './known.ts'
import { isMasked } from './shapes.ts'
import { isCuttable, merged, SHORTEST_SHOWN, SHOWN_FIRST, type Span } from './spans.ts'

const known = createKnown()

/** From now on the values it gives are masked wherever they stand. Answers how to stop that. */
export const watchSecrets = (source: SecretSource): (() => void) => known.watch(source)

/** One of the sources has just changed. */
export const refreshSecrets = (): void => known.refresh()

const NOTHING_LEFT = '***'
const SHOWN_LAST = 4

/** What an earlier pass hid stays as it is. */
const maskOf = (secret: string, as?: string): string => {
  if (as !== undefined) return as
  if (isMasked(secret)) return secret
  const first = secret.slice(0, SHOWN_FIRST)
  if (secret.length < SHORTEST_SHOWN || !isCuttable(first)) return NOTHING_LEFT
  const last = isCuttable(secret.slice(-SHOWN_LAST - 1)) ? secret.slice(-SHOWN_LAST) : '****'
  return `${first}...${last}`
}

/** False is certain, true means: look closer. Takes JSON text as well. */
export const isSuspect = (text: string): boolean => known.finder().suspects(text).length > 0

/** Start of each suspect place, for callers that look through many lines at once. */
export const suspectPlaces = (text: string): readonly number[] => known.finder().suspects(text)

const written = (text: string, spans: readonly Span[]): string => {
  if (spans.length === 0) return text
  let out = ''
  let at = 0
  for (const { from, to, as } of spans) {
    out += text.slice(at, from) + maskOf(text.slice(from, to), as)
    at = to
  }
  return out + text.slice(at)
}

/** What was cut out of a longer text may begin and end in the middle of a secret. */
const spansOf = (text: string): Span[] => {
  const { spans } = known.finder().analyze(text, true)
  const pieces = [...known.cut().start(text), ...known.cut().end(text)]
  return pieces.length === 0 ? spans : merged([...spans, ...pieces])
}

export const redact = (text: string): string => written(text, spansOf(text))

/** Only what is known by its exact value: nothing else of a command may be hidden from whoever decides about it. */
export const redactKnown = (text: string): string =>
  written(
    text,
    spansOf(text).filter(span => span.known),
  )

export type StreamRedactor = {
  /** The part of what was said so far that is certain by now. */
  push: (text: string) => string
  /** The rest: nothing follows. */
  end: () => string
}

/** What has been sent is still looked at: a name says what the value behind it is. */
const LOOK_BACK = 256

/**
 * For text that comes in pieces: what it gives, put together, is what `redact` makes of the whole. Kept back is what may
 * be the beginning of a secret, and never more than the longest one has.
 */
export const createStreamRedactor = (): StreamRedactor => {
  let before = ''
  let isCut = false
  let held = ''
  const take = (final: boolean): string => {
    const text = before + held
    const sent = before.length
    const { spans: whole, pending } = known.finder().analyze(text, final)
    const pieces = final ? known.cut().end(text) : []
    const spans = pieces.length === 0 ? whole : merged([...whole, ...pieces])
    const stop = Math.max(sent, pending)
    let out = ''
    let at = sent
    for (const { from, to, as } of spans) {
      // Of a word that is cut off at its beginning nothing can be said.
      if (to <= sent || (isCut && from === 0)) continue
      if (to > stop) break
      const mask = maskOf(text.slice(from, to), as)
      if (from >= sent) out += text.slice(at, from) + mask
      else out += mask.startsWith(text.slice(from, sent)) ? mask.slice(sent - from) : NOTHING_LEFT
      at = to
    }
    out += text.slice(at, Math.max(at, stop))
    isCut ||= stop > LOOK_BACK
    before = text.slice(Math.max(0, stop - LOOK_BACK), stop)
    held = text.slice(stop)
    return out
  }
  return {
    push(text) {
      held += text
      return take(false)
    },
    end: () => take(true),
  }
}

/**
 * A short secret leaves three stars, which in Markdown mean something else. What stands before them on their line tells
 * which are which; a line that was left alone, and else the name in front of them.
 */
const unredactLines = (edited: string, stored: string, spans: readonly Span[]): string => {
  const lines = new Map(stored.split('\n').map(line => [redact(line), line]))
  const short = spans
    .filter(({ from, to, as }) => maskOf(stored.slice(from, to), as) === NOTHING_LEFT)
    .map(({ from, to }) => {
      const line = stored.slice(stored.lastIndexOf('\n', from - 1) + 1, from)
      return { before: line, secret: stored.slice(from, to) }
    })
    .filter(({ before }) => before.trim() !== '')
  return edited
    .split('\n')
    .map(line => {
      if (!line.includes(NOTHING_LEFT)) return line
      const whole = lines.get(line)
      if (whole !== undefined) return whole
      return short.reduce(
        (text, { before, secret }) => text.replace(before + NOTHING_LEFT, () => before + secret),
        line,
      )
    })
    .join('\n')
}

const oneDot = (mask: string): string => mask.replace('...', '…')

/**
 * A text that was read redacted, edited and sent back: what `redact` had hidden of `stored` stands in it again, so that an
 * edit destroys no secret. The k-th of equal masks stands for the k-th of what it hides.
 */
export const unredact = (edited: string, stored: string): string => {
  const hidden = new Map<string, string[]>()
  const spans = spansOf(stored)
  for (const { from, to, as } of spans) {
    const was = stored.slice(from, to)
    const is = maskOf(was, as)
    if (is !== was) hidden.set(is, [...(hidden.get(is) ?? []), was])
  }
  // Models like to write three dots as one character.
  for (const [is, was] of [...hidden]) if (is.includes('...')) hidden.set(oneDot(is), was)
  let text = hidden.delete(NOTHING_LEFT) ? unredactLines(edited, stored, spans) : edited
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
    ? known
        .secrets()
        .map(secret => maskOf(secret))
        .filter(mask => mask !== NOTHING_LEFT)
        .flatMap(mask => [mask, oneDot(mask)])
        .find(mask => text.includes(mask))
    : undefined

/** Why a command that holds a mask would not do what it says; null when it holds none. */
export const unusableCommand = (command: string): string | null => {
  const mask = maskIn(command)
  return mask === undefined
    ? null
    : `"${mask}" stands for a secret that is not shown. Use the variable or the file it stands in; to change a file that holds it, use patch.`
}

/**
 * As `unredact`, for a writer that must not put a mask where a secret stood. Throws a sentence when one is left that
 * cannot be put back: it stands for a secret of another file, or on a line that was rewritten.
 */
export const reveal = (edited: string, stored: string): string => {
  const text = unredact(edited, stored)
  const foreign = maskIn(text)
  const isNew = foreign !== undefined && countOf(text, foreign) > countOf(stored, foreign)
  const shown = redact(stored)
  const hadStars = countOf(shown, NOTHING_LEFT) > countOf(stored, NOTHING_LEFT)
  const isLost = hadStars && countOf(text, NOTHING_LEFT) > countOf(stored, NOTHING_LEFT)
  if (isNew || isLost)
    throw new Error(
      `Nothing was written: "${isNew ? foreign : NOTHING_LEFT}" in this text stands for a secret that is not shown, and it is not clear for which. Leave the line it stands on as it was read, or name the variable that holds it.`,
    )
  return text
}

/** The same value with every text in it redacted, keys excepted. */
export const redactValue = <T>(value: T): T => {
  if (typeof value === 'string') return redact(value) as T
  if (Array.isArray(value)) return value.map(redactValue) as T
  if (!isObjectOrArray(value)) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [key, redactValue(inner)]),
  ) as T
}

/** One JSON text in, one out; untouched and unparsed when there is nothing to hide. */
export const redactJsonLine = (line: string): string =>
  isSuspect(line) ? JSON.stringify(redactValue(JSON.parse(line))) : line
