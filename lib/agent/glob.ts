/** Text patterns like those of a shell or of Python’s `fnmatch`: `*`, `?`, `[…]`. */

/** Matches `char` against the set `[…]` or `[!…]` at `at`; `end` is behind the set. Null when the bracket is not closed. */
const bracket = (
  pattern: string,
  at: number,
  char: string,
): { has: boolean; end: number } | null => {
  const isNot = pattern[at + 1] === '!'
  const first = at + (isNot ? 2 : 1)
  // A closing bracket in first position is a literal.
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

/** Matches one character of text; returns the next pattern index, or -1. */
const step = (pattern: string, at: number, char: string): number => {
  const token = pattern[at]
  if (token === '?') return at + 1
  const set = token === '[' ? bracket(pattern, at, char) : null
  if (set) return set.has ? set.end : -1
  return token === char ? at + 1 : -1
}

/**
 * Matches the whole text like Python's `fnmatch`, ignoring case unless `isExact`; `/` is not special. Runs in
 * O(text × pattern), so that a pattern with many stars cannot block the server.
 */
export const matchesGlob = (glob: string, text: string, { isExact = false } = {}): boolean => {
  const pattern = isExact ? glob : glob.toLowerCase()
  const chars = isExact ? text : text.toLowerCase()
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
