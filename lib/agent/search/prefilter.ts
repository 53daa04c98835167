/**
 * Translates a JavaScript regular expression for ripgrep, so that the result matches at least the same lines. The two
 * dialects differ in Unicode, assertions, and back-references, so ripgrep only selects files; our own pattern decides.
 */

/** Null for a pattern that cannot be translated, or one that matches an empty line and so selects nothing. */
export const toPrefilter = (source: string, flags: string): string | null => {
  const reader: Reader = { source, at: 0, isFolded: flags.includes('i') }
  try {
    const { text, isEmpty } = readAlternatives(reader)
    return isEmpty || reader.at < source.length ? null : text
  } catch (error) {
    if (error === UNKNOWN) return null
    throw error
  }
}

type Reader = { source: string; at: number; isFolded: boolean }

/** `unit`: how many bytes one repetition has at most; only for a set of bytes. */
type Part = { text: string; isEmpty: boolean; unit?: number }

const UNKNOWN = Symbol('not translatable')
const unknown = (): never => {
  throw UNKNOWN
}

const take = (reader: Reader, pattern: RegExp): RegExpExecArray | null => {
  const sticky = new RegExp(pattern, 'y')
  sticky.lastIndex = reader.at
  const found = sticky.exec(reader.source)
  if (found) reader.at += found[0].length
  return found
}

const readAlternatives = (reader: Reader): Part => {
  const parts = [readSequence(reader)]
  while (take(reader, /\|/)) parts.push(readSequence(reader))
  return {
    text: parts.map(({ text }) => text).join('|'),
    isEmpty: parts.some(({ isEmpty }) => isEmpty),
  }
}

const readSequence = (reader: Reader): Part => {
  const parts: Part[] = []
  while (reader.at < reader.source.length && !/[|)]/.test(reader.source[reader.at] as string))
    parts.push(repeat(reader, readTerm(reader)))
  return {
    text: parts.map(({ text }) => text).join(''),
    isEmpty: parts.every(({ isEmpty }) => isEmpty),
  }
}

const NOTHING: Part = { text: '', isEmpty: true }

const readTerm = (reader: Reader): Part => {
  // Ripgrep does not know a lone carriage return as a line break, and a byte order mark is part of its first line.
  if (take(reader, /\^/)) return { text: '(?:^|\\r|\\x{feff})', isEmpty: true }
  if (take(reader, /\$/)) return { text: '(?:$|\\r)', isEmpty: true }
  if (take(reader, /\\b/)) return { text: '(?-u:\\b)', isEmpty: true }
  if (take(reader, /\\B/)) return NOTHING
  if (take(reader, /\(\?<?[=!]/)) {
    // Without the assertion, more lines match.
    readGroup(reader)
    return NOTHING
  }
  if (take(reader, /\((?:\?:|\?<[\w$]+>|(?!\?))/)) return readGroup(reader)
  if (take(reader, /\(/)) return unknown()
  if (take(reader, /\./)) return bytes(complement(['\n']))
  if (take(reader, /\[/)) return readClass(reader)
  if (take(reader, /\\(?:[1-9]|0\d)\d*/)) return { text: '(?-u:[^\\n])*', isEmpty: true }
  const set = readSet(reader)
  if (set) return bytes(set)
  return literal(reader, readChar(reader))
}

const readGroup = (reader: Reader): Part => {
  const { text, isEmpty } = readAlternatives(reader)
  if (!take(reader, /\)/)) unknown()
  return { text: `(?:${text})`, isEmpty }
}

/** Larger counts would make a large program of the pattern. */
const MAX_COUNT = 100

const repeat = (reader: Reader, part: Part): Part => {
  const found = take(reader, /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/)
  const { text, isEmpty, unit = 1 } = part
  if (!found) return unit > 1 ? { text: `${text}{1,${unit}}`, isEmpty } : part
  const [, sign, least, comma, most] = found
  const min = sign ? (sign === '+' ? 1 : 0) : Number(least)
  const max = sign ? (sign === '?' ? 1 : Infinity) : comma ? Number(most || Infinity) : min
  if (text === '') return part
  const top = max * unit > MAX_COUNT ? '' : max * unit
  return { text: `${text}{${Math.min(min, MAX_COUNT)},${top}}`, isEmpty: isEmpty || min === 0 }
}

// ── Sets of characters ──────────────────────────────────────────────────────────────────────────────────────────────

/** The ASCII characters of a set, and whether it has others. */
type CharSet = { ascii: Set<string>; hasOthers: boolean }

const ASCII = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code))
const complement = (chars: Iterable<string>): CharSet => ({
  ascii: new Set(ASCII).difference(new Set(chars)),
  hasOthers: true,
})
const matching = (pattern: RegExp): CharSet => ({
  ascii: new Set(ASCII.filter(char => pattern.test(char))),
  hasOthers: false,
})

const SETS: Readonly<Record<string, CharSet>> = {
  d: matching(/\d/),
  w: matching(/\w/),
  s: { ...matching(/\s/), hasOthers: true },
  D: complement(matching(/\d/).ascii),
  W: complement(matching(/\w/).ascii),
  S: complement(matching(/\s/).ascii),
}
const readSet = (reader: Reader): CharSet | undefined =>
  SETS[take(reader, /\\([dwsDWS])/)?.[1] ?? '']

/** One UTF-16 unit has at most three bytes in UTF-8, and one in Latin-1. */
const UNIT_BYTES = 3

/** Works on bytes, because a line need not be UTF-8. */
const bytes = ({ ascii, hasOthers }: CharSet): Part => {
  const isIn = (code: number) =>
    code < 128 ? code !== 10 && ascii.has(String.fromCharCode(code)) : hasOthers
  const ranges: string[] = []
  for (let code = 0; code < 256; code++) {
    if (!isIn(code)) continue
    const first = code
    while (code < 255 && isIn(code + 1)) code++
    ranges.push(code === first ? hex(first) : `${hex(first)}-${hex(code)}`)
  }
  if (ranges.length === 0) return unknown()
  return {
    text: `(?-u:[${ranges.join('')}])`,
    isEmpty: false,
    ...(hasOthers && { unit: UNIT_BYTES }),
  }
}

const hex = (code: number): string => `\\x${code.toString(16).padStart(2, '0')}`

const bothCases = (char: string): string[] => [char.toLowerCase(), char.toUpperCase()]

const readClass = (reader: Reader): Part => {
  const isNegated = take(reader, /\^/) !== null
  const set: CharSet = { ascii: new Set(), hasOthers: false }
  const add = (char: string): void => {
    if (char > '\x7f') set.hasOthers = true
    else for (const one of reader.isFolded ? bothCases(char) : [char]) set.ascii.add(one)
  }
  const readMember = (): string | CharSet =>
    readSet(reader) ?? (take(reader, /\\b/) ? '\b' : readChar(reader))
  while (!take(reader, /\]/)) {
    if (reader.at >= reader.source.length) unknown()
    const from = readMember()
    const to = take(reader, /-(?!\])/) ? readMember() : from
    if (typeof from === 'string' && typeof to === 'string') {
      for (const char of ASCII) if (char >= from && char <= to) add(char)
      add(to)
    } else {
      // Next to a set, a hyphen is an ordinary character.
      if (to !== from) add('-')
      for (const member of [from, to]) {
        if (typeof member === 'string') add(member)
        else {
          for (const char of member.ascii) set.ascii.add(char)
          set.hasOthers ||= member.hasOthers
        }
      }
    }
  }
  return bytes(isNegated ? complement(set.ascii) : set)
}

// ── Characters ──────────────────────────────────────────────────────────────────────────────────────────────────────

const CONTROLS: Readonly<Record<string, string>> = { t: '\t', v: '\v', f: '\f', r: '\r' }

/** One UTF-16 unit. A line break matches in no line; `\c`, `\k`, and octal numbers depend on the rest of the pattern. */
const readChar = (reader: Reader): string => {
  const code = take(reader, /\\(?:x([\da-f]{2})|u([\da-f]{4}))/i)
  if (code) return lineChar(String.fromCharCode(Number.parseInt(code[1] ?? code[2] ?? '', 16)))
  const escaped = take(reader, /\\([\s\S])/)?.[1]
  if (escaped === undefined) return lineChar(take(reader, /[^\\]/)?.[0] ?? unknown())
  if (/[ckn\d]/.test(escaped)) return unknown()
  return lineChar(CONTROLS[escaped] ?? escaped)
}

const lineChar = (char: string): string => (char === '\n' ? unknown() : char)

const literal = (reader: Reader, char: string): Part => {
  if (char <= '\x7f') {
    if (!reader.isFolded)
      return { text: /\w/.test(char) ? char : hex(char.charCodeAt(0)), isEmpty: false }
    return bytes({ ascii: new Set(bothCases(char)), hasOthers: false })
  }
  if (reader.isFolded || /[\ud800-\udfff]/.test(char))
    return bytes({ ascii: new Set(), hasOthers: true })
  const inUtf8 = [...Buffer.from(char)].map(hex).join('')
  const inLatin1 = char <= '\xff' ? `|${hex(char.charCodeAt(0))}` : ''
  return { text: `(?-u:${inUtf8}${inLatin1})`, isEmpty: false }
}
