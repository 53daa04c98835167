/** Rules of a home that forbid commands (`approvals.deny`): glob patterns over a command and over everything it would start. */
import { normalise, type Place, startedPrograms } from './command-risk.ts'

/** `[…]` and `[!…]` at `at` of a pattern: whether it has `char`, and where it ends; null when no bracket closes it. */
const bracket = (
  pattern: string,
  at: number,
  char: string,
): { has: boolean; end: number } | null => {
  const isNot = pattern[at + 1] === '!'
  const first = at + (isNot ? 2 : 1)
  // A bracket right behind the opening one is a character like any other.
  const end = pattern.indexOf(']', first + 1)
  if (end < 0) return null
  let has = false
  for (let i = first; i < end; i++) {
    const from = pattern[i] ?? ''
    const isRange = pattern[i + 1] === '-' && i + 2 < end
    const to = isRange ? (pattern[i + 2] ?? '') : from
    has ||= from <= char && char <= to
    if (isRange) i += 2
  }
  return { has: has !== isNot, end: end + 1 }
}

/** One character of the pattern against one of the text: where the pattern goes on, or -1. */
const step = (pattern: string, at: number, char: string): number => {
  const wanted = pattern[at]
  if (wanted === '?') return at + 1
  const set = wanted === '[' ? bracket(pattern, at, char) : null
  if (set) return set.has ? set.end : -1
  return wanted === char ? at + 1 : -1
}

/**
 * The globs of Python's `fnmatch` over the whole text, `/` being no special character, case ignored. In time proportional
 * to text × pattern: a pattern of many stars must not be a way to stop the service.
 */
export const matchesGlob = (given: string, text: string): boolean => {
  const pattern = given.toLowerCase()
  const chars = text.toLowerCase()
  let [at, next] = [0, 0]
  let [star, since] = [-1, 0]
  while (at < chars.length) {
    if (pattern[next] === '*') {
      star = next++
      since = at
      continue
    }
    const on = next < pattern.length ? step(pattern, next, chars[at] ?? '') : -1
    if (on >= 0) {
      next = on
      at++
    } else if (star >= 0) {
      next = star + 1
      at = ++since
    } else return false
  }
  while (pattern[next] === '*') next++
  return next === pattern.length
}

const oneSpaced = (text: string): string => text.trim().replace(/\s+/g, ' ')

/** The texts a rule is held against: the whole, its lines, and every program that would be started, by path and by name. */
const variantsOf = (command: string, place: Place): Set<string> => {
  const text = normalise(command)
  const joined = text.replace(/\\\r?\n/g, '')
  const started = startedPrograms(command, place).flatMap(({ name, path, args, redirects }) => {
    const lines = [[name, ...args].join(' '), [path, ...args].join(' ')]
    const aside = redirects.map(({ op, target }) => `${op} ${target}`)
    return aside.length > 0 ? [...lines, ...lines.map(line => [line, ...aside].join(' '))] : lines
  })
  const plain = started.join('; ')
  return new Set(
    [command, text, joined, ...joined.split('\n'), ...started, plain]
      .flatMap(each => [each.trim(), oneSpaced(each)])
      .filter(each => each !== ''),
  )
}

/** The first pattern that forbids the command; undefined when none does. */
export const deniedBy = (
  command: string,
  place: Place,
  patterns: readonly string[],
): string | undefined => {
  if (patterns.length === 0) return undefined
  const variants = [...variantsOf(command, place)]
  return patterns.find(pattern => variants.some(text => matchesGlob(pattern.trim(), text)))
}
