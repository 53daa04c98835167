/**
 * Decodes text files reversibly, and edits them without changing any other byte. Bytes that are invalid in the file's
 * encoding become lone surrogates U+DC80–U+DCFF in `text` (as Python's surrogateescape does; never displayed), so that
 * offsets in the text map to offsets in the file.
 */
import { isUtf8 } from 'node:buffer'
import { invalid } from '../errors.ts'
import { detectLegacy, encodeLegacy, isLegacy, type LegacyEncoding } from './legacy-encodings.ts'

export type Encoding =
  | 'UTF-8'
  | 'UTF-16 LE'
  | 'UTF-16 BE'
  | 'Windows-1252'
  | LegacyEncoding
  /** UTF-8 with stray bytes. */
  | 'UTF-8 with other bytes'
  /** Only ASCII is certain. */
  | 'unknown'

export type TextBytes = {
  bytes: Buffer
  encoding: Encoding
  /** Length of the byte order mark in bytes. It is not part of `text`. */
  bom: number
  text: string
}

export type Edit = { start: number; end: number; text: string }

/** A NUL in this many first bytes makes a file binary, unless it is UTF-16. */
const HEAD_BYTES = 8_192
/** Magic numbers of binary formats that may have no early NUL. */
const MAGIC = ['%PDF', 'PK\u0003\u0004', '\u007fELF', '\u001f\u008b', '\u0089PNG']

const markOf = (bytes: Uint8Array): Encoding | null => {
  // FF FE 00 00 is UTF-32.
  if (bytes[0] === 0xff && bytes[1] === 0xfe)
    return bytes[2] === 0 && bytes[3] === 0 ? null : 'UTF-16 LE'
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'UTF-16 BE' : null
}

/** What no text holds: control characters, halves of pairs, and characters that are not assigned or private. */
const NO_TEXT = /[\0-\x08\x0b\x0e-\x1a\x1c-\x1f\x7f-\x9f\ufffd]|\p{Cs}|\p{Co}|\p{Cn}/u

/** UTF-16 without a mark has zeros, for spaces and line ends at least, in one of the two bytes of its characters only. */
const unmarkedOf = (bytes: Buffer): Encoding | null => {
  if (bytes.length % 2 !== 0) return null
  const head = bytes.subarray(0, HEAD_BYTES)
  const zeros = [0, 0]
  for (let at = head.indexOf(0); at >= 0; at = head.indexOf(0, at + 1))
    zeros[at % 2] = (zeros[at % 2] ?? 0) + 1
  const [even = 0, odd = 0] = zeros
  if ((even === 0) === (odd === 0)) return null
  const encoding = odd > 0 ? 'UTF-16 LE' : 'UTF-16 BE'
  // The head may end within a pair.
  const text = fromUtf16(head, encoding).replace(/[\ud800-\udbff]$/, '')
  return NO_TEXT.test(text) ? null : encoding
}

const utf16Of = (bytes: Buffer): Encoding | null => markOf(bytes) ?? unmarkedOf(bytes)

const isBinary = (bytes: Buffer): boolean => {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(HEAD_BYTES, bytes.length))
  if (head.includes(0)) return utf16Of(bytes) === null
  const text = head.toString('latin1', 0, 8)
  return MAGIC.some(magic => text.startsWith(magic))
}

/** Null for a binary file. Never throws: invalid bytes are preserved. */
export const readTextBytes = (bytes: Buffer): TextBytes | null => {
  if (isBinary(bytes)) return null
  const utf16 = utf16Of(bytes)
  if (utf16) {
    if (bytes.length % 2 !== 0) return null
    const mark = markOf(bytes) ? 2 : 0
    return { bytes, encoding: utf16, bom: mark, text: fromUtf16(bytes.subarray(mark), utf16) }
  }
  const bom = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0
  const body = bytes.subarray(bom)
  if (isUtf8(body)) return { bytes, encoding: 'UTF-8', bom, text: body.toString('utf8') }
  const encoding = bom > 0 ? 'UTF-8 with other bytes' : guess(body)
  const legacy = encoding === 'UTF-8 with other bytes' ? null : detectLegacy(body)
  if (legacy) return { bytes, bom, ...legacy }
  if (encoding === 'Windows-1252') return { bytes, encoding, bom, text: fromWindows(body) }
  return { bytes, encoding, bom, text: fromMixed(body, encoding !== 'unknown') }
}

/** The text to display, with invalid bytes as U+FFFD. */
export const displayText = ({ text, encoding }: TextBytes): string =>
  hasEscapes(encoding) ? replaceEscapes(text) : text

export const replaceEscapes = (text: string): string => text.replace(ESCAPES, '\ufffd')

export const hasEscapes = (encoding: Encoding): boolean =>
  encoding === 'unknown' || encoding === 'UTF-8 with other bytes'

/** Lone surrogates only: the second half of a pair is part of a character. */
const ESCAPE = /(?<![\ud800-\udbff])[\udc80-\udcff]/
const ESCAPES = new RegExp(ESCAPE, 'g')
const isEscape = (char: string | undefined): boolean =>
  char !== undefined && char >= '\udc80' && char <= '\udcff'

/** Applies edits, which are sorted and do not overlap. Throws a UserError when new text cannot be encoded. */
export const splice = (file: TextBytes, edits: readonly Edit[]): Buffer => {
  const parts: Buffer[] = []
  let [inText, inBytes, restAt] = [0, file.bom, 0]
  const passTo = (at: number): number => {
    inBytes += sizeOf(file.text.slice(inText, at), file.encoding)
    inText = at
    return inBytes
  }
  for (const { start, end, text } of edits) {
    if (file.encoding === 'unknown') checkBounds(file.text, start, end)
    parts.push(file.bytes.subarray(restAt, passTo(start)), encode(text, file.encoding))
    restAt = passTo(end)
  }
  return Buffer.concat([...parts, file.bytes.subarray(restAt)])
}

/**
 * In an unknown encoding two bytes may be one character, and the second may look like ASCII. An edit must begin and end
 * where that is impossible.
 */
const checkBounds = (text: string, start: number, end: number): void => {
  const opens = isEscape(text[start - 1]) && start < text.length && text.charCodeAt(start) >= 0x20
  const closes = isEscape(text[end - 1]) && end < text.length && text.charCodeAt(end) >= 0x20
  if (opens || (closes && end > start))
    throw invalid(
      'The edit begins or ends beside characters of an unknown encoding and could split one. Quote whole lines.',
    )
}

const sizeOf = (text: string, encoding: Encoding): number => {
  if (encoding === 'UTF-16 LE' || encoding === 'UTF-16 BE') return text.length * 2
  if (encoding === 'Windows-1252') return text.length
  if (isLegacy(encoding)) return encode(text, encoding).length
  if (encoding === 'UTF-8') return Buffer.byteLength(text)
  // A lone surrogate counts as three bytes and represents one.
  return Buffer.byteLength(text) - 2 * (text.match(ESCAPES)?.length ?? 0)
}

/** Throws a UserError when a character does not exist in this encoding. */
export const encode = (text: string, encoding: Encoding): Buffer => {
  if (encoding === 'UTF-16 LE') return Buffer.from(text, 'utf16le')
  if (encoding === 'UTF-16 BE') return Buffer.from(text, 'utf16le').swap16()
  if (encoding === 'Windows-1252') return toWindows(text)
  if (isLegacy(encoding)) return toLegacy(text, encoding)
  if (!text.isWellFormed())
    throw invalid('The new text holds half a surrogate pair, which is not a character.')
  if (encoding === 'unknown') {
    const strange = /[^\0-\x7f]/u.exec(text)
    if (strange)
      throw invalid(
        `The encoding of the file is not known, so only ASCII can be added; "${strange[0]}" is not.`,
      )
  }
  return Buffer.from(text)
}

/** The original bytes of a piece of the file's own text. */
export const toBytes = (text: string, encoding: Encoding): Buffer => {
  if (!hasEscapes(encoding)) return encode(text, encoding)
  const parts = text.split(new RegExp(`(${ESCAPE.source})`))
  return Buffer.concat(
    parts.map((part, at) =>
      at % 2 === 0 ? Buffer.from(part) : Buffer.of(part.charCodeAt(0) - 0xdc00),
    ),
  )
}

const toLegacy = (text: string, encoding: LegacyEncoding): Buffer => {
  let missing = ''
  const bytes = encodeLegacy(text, encoding, char => {
    missing = char
  })
  if (bytes) return bytes
  throw invalid(
    `The file is in ${encoding}, which has no "${missing}". Write it without, or convert the file first.`,
  )
}

const fromUtf16 = (bytes: Buffer, encoding: Encoding): string =>
  (encoding === 'UTF-16 BE' ? Buffer.from(bytes).swap16() : bytes).toString('utf16le')

// ── Windows-1252 ────────────────────────────────────────────────────────────────────────────────────────────────────

/** 0x80–0x9F; the five undefined bytes map to themselves. Everything above is as in Latin-1. */
const WINDOWS = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ'

const fromWindows = (bytes: Buffer): string =>
  bytes.toString('latin1').replace(/[\x80-\x9f]/g, char => WINDOWS[char.charCodeAt(0) - 0x80] ?? '')

const toWindows = (text: string): Buffer =>
  Buffer.from(
    text.replace(/[^\0-\x7f\xa0-\xff]/gu, char => {
      const at = WINDOWS.indexOf(char)
      if (at >= 0) return String.fromCharCode(0x80 + at)
      throw invalid(
        `The file is in Windows-1252, which has no "${char}". Write it without, or convert the file first.`,
        { code: 'character_unsupported', values: { char } },
      )
    }),
    'latin1',
  )

/** Of the runs of non-ASCII bytes in Western text, those of more than three are rare. */
const MAX_LONG_RUNS = 0.2

/** The most likely encoding of bytes that are not UTF-8. It only decides which characters may be added. */
const guess = (bytes: Buffer): Encoding => {
  const { valid, invalid: strays } = countUtf8(bytes)
  if (valid > strays) return 'UTF-8 with other bytes'
  const text = bytes.toString('latin1')
  // Western text has single non-ASCII letters inside words; other scripts have runs of them, or bytes that are rare in it.
  const isRare = /[\x81\x83\x88\x8d\x8f\x90\x98\x9d]|\x82[\x9f-\xf1]/.test(text)
  const runs = text.match(/[\x80-\xff]+/g) ?? []
  const long = runs.filter(run => run.length > 3)
  const isForeign =
    long.length > runs.length * MAX_LONG_RUNS ||
    long.some(run => run.length > 7 || /[\x80-\xbf\xd7\xf7]/.test(run))
  return isRare || isForeign ? 'unknown' : 'Windows-1252'
}

// ── UTF-8 with stray bytes ──────────────────────────────────────────────────────────────────────────────────────────

/** The length in bytes of the character that begins here; 0 for an invalid byte. */
const lengthAt = (bytes: Buffer, at: number): number => {
  const first = bytes[at] ?? 0
  if (first < 0x80) return 1
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2
  return first >= 0xc2 && first <= 0xf4 && isUtf8(bytes.subarray(at, at + length)) ? length : 0
}

/** The number of valid non-ASCII characters and of invalid bytes. */
const countUtf8 = (bytes: Buffer): { valid: number; invalid: number } => {
  const count = { valid: 0, invalid: 0 }
  for (let at = 0; at < bytes.length; ) {
    const length = lengthAt(bytes, at)
    if (length > 1) count.valid++
    if (length === 0) count.invalid++
    at += Math.max(length, 1)
  }
  return count
}

const fromMixed = (bytes: Buffer, isUtf8Else: boolean): string => {
  const parts: string[] = []
  let from = 0
  for (let at = 0; at < bytes.length; ) {
    const length = isUtf8Else || (bytes[at] ?? 0) < 0x80 ? lengthAt(bytes, at) : 0
    if (length === 0) {
      parts.push(bytes.toString('utf8', from, at), String.fromCharCode(0xdc00 + (bytes[at] ?? 0)))
      from = at + 1
    }
    at += Math.max(length, 1)
  }
  return parts.join('') + bytes.toString('utf8', from)
}
