/** Finds what a text names: URLs, and paths with a line. Only a request tells which paths exist. */
import { addressIn } from '../../../lib/base/markdown/cjk.ts'

/** `start` and `end` are offsets into the text. */
export type Reference = { start: number; end: number } & (
  | { kind: 'url'; href: string }
  | { kind: 'path'; path: string; line: number | null; endLine: number | null }
)

/** A text with more is not looked through further. */
const MAX_CHARS = 60_000
const MAX_REFERENCES = 200
const MAX_PATH = 500

/** A URL, or characters without spaces, quotes and separators; a comma only in `(12,5)`. No nested repetition: linear time. */
const WORD =
  /https?:\/\/[^\s"'`<>|\\\p{Cc}\p{Bidi_Control}]+|(?:(?!https?:\/\/)[^\s"'`<>|,;=])+(?:(?<=\(\d{1,7}),\d{1,7}\)[^\s"'`<>|,;=]*)?/giu

const CLOSING: Readonly<Record<string, string>> = { ')': '(', ']': '[', '}': '{' }

const count = (text: string, letter: string): number => text.split(letter).length - 1

/** The end of `word` without punctuation of the sentence and without brackets that it did not open. */
const trimEnd = (word: string): number => {
  let end = word.length
  // At most as many steps as there are marks at the end; more than these are no path.
  for (let step = 0; step < 12 && end > 0; step += 1) {
    const last = word[end - 1]!
    const opening = CLOSING[last]
    const head = word.slice(0, end)
    const extra = opening !== undefined && count(head, last) > count(head, opening)
    if (!extra && !/[.,;:!?*…。、，：；！？）】」』’”»]/u.test(last)) break
    end -= 1
  }
  return end
}

/** Line and column as compilers, editors and GitHub write them, at the end of a name. */
const PLACES: readonly RegExp[] = [
  /^(.+?):(\d{1,7})(?:-(\d{1,7})|:\d{1,7}(?:-\d{1,7})?)?$/,
  /^(.+?)#L(\d{1,7})(?:C\d{1,7})?(?:-L?(\d{1,7})(?:C\d{1,7})?)?$/,
  /^(.+?)\((\d{1,7})(?:,\d{1,7})?\)$/,
]

type FilePlace = { path: string; line: number | null; endLine: number | null }

const placeOf = (word: string): FilePlace => {
  for (const pattern of PLACES) {
    const match = pattern.exec(word)
    if (!match) continue
    const line = Number(match[2])
    const end = match[3] === undefined ? null : Number(match[3])
    if (line > 0) return { path: match[1]!, line, endLine: end !== null && end > line ? end : null }
  }
  return { path: word, line: null, endLine: null }
}

/** Files that are known by their name alone. */
const PLAIN_NAME =
  /^(?:Makefile|Dockerfile|Containerfile|Jenkinsfile|Procfile|Rakefile|Gemfile|Justfile|LICENSE|LICENCE|COPYING|README|CHANGELOG|NOTICE|CODEOWNERS)$/

/** An ending as files have it: with a letter, so that versions and decimals are not paths. */
const ENDING = /[^./]\.(?=[\w+-]*[a-z])[\w+-]{1,12}$|(?:^|\/)\.[a-z][\w.-]{1,40}$/i

const isPath = (path: string): boolean => {
  if (path.length > MAX_PATH || /[\\$~*?:\p{Cc}\p{Bidi_Control}]/u.test(path)) return false
  // Comments and scheme-relative URLs; names outside the workspace.
  if (path.startsWith('//') || /(?:^|\/)\.\.(?:\/|$)/.test(path)) return false
  if (!/[\p{L}\p{N}_]/u.test(path)) return false
  // 24/7, 2026/01/02, 1.5/2
  if (/^[\d./-]+$/.test(path)) return false
  return path.includes('/') || ENDING.test(path) || PLAIN_NAME.test(path)
}

const pathIn = (word: string): FilePlace | null => {
  const local = /^file:\/\/(?:localhost)?(?=\/)/i.exec(word)
  const place = placeOf(local ? word.slice(local[0].length) : word)
  return isPath(place.path) ? place : null
}

const urlIn = (word: string): string | null => {
  const url = URL.parse(word)
  return url && /^https?:$/.test(url.protocol) && url.hostname !== '' ? url.href : null
}

const referenceAt = (text: string, from: number, word: string): Reference | null => {
  // Brackets and signs before a name: `(src/a.ts)`, `[link`, `@src/a.ts`.
  const isUrl = /^https?:\/\//i.test(word)
  const prefixLength = isUrl ? 0 : /^[([{@*“‘«（【「『:!#…]*/u.exec(word)![0].length
  const start = from + prefixLength
  const whole = word.slice(prefixLength, MAX_PATH * 5)
  const rest = isUrl ? addressIn(whole) : whole
  const end = trimEnd(rest)
  const name = rest.slice(0, end)
  if (isUrl) {
    const href = urlIn(name)
    return href ? { kind: 'url', start, end: start + end, href } : null
  }
  // `src/a.ts:12: error` and `src/a.ts(12,5): error` end with a colon that was trimmed.
  const place = pathIn(name)
  if (!place) return null
  if (place.line !== null || text[start + end] !== '"')
    return { kind: 'path', start, end: start + end, ...place }
  // Python: File "src/a.py", line 12
  const line = /^", line (\d{1,7})/.exec(text.slice(start + end, start + end + 20))?.[1]
  return { kind: 'path', start, end: start + end, ...place, line: line ? Number(line) : null }
}

/** References in the order of the text; they do not overlap. */
export const findReferences = (text: string): Reference[] => {
  const references: Reference[] = []
  const seen = text.length > MAX_CHARS ? text.slice(0, MAX_CHARS) : text
  for (const { 0: word, index } of seen.matchAll(WORD)) {
    if (word.length < 3) continue
    const reference = referenceAt(seen, index, word)
    if (reference) references.push(reference)
    if (references.length === MAX_REFERENCES) break
  }
  return references
}

/** The text of inline code as one name, which may contain spaces: `docs/release notes.md:3`. */
export const wholeReference = (text: string): Reference | null => {
  const name = text.trim()
  if (name.length < 3 || name.length > MAX_PATH || /[\n"'`<>|;*?=\p{Bidi_Control}]/u.test(name))
    return null
  if (!/\s/.test(name) || /^https?:/i.test(name)) return null
  const place = pathIn(name)
  const start = text.indexOf(name)
  // Commands contain spaces as well: only what has a directory and an ending is asked for.
  if (!place?.path.includes('/') || !ENDING.test(place.path)) return null
  return { kind: 'path', start, end: start + name.length, ...place }
}
