/** Explains why a quotation wasn't found and shows the most similar lines, so that the model can correct it. */

const MAX_LINES = 12
const MAX_LINE_CHARS = 300
/** Characters compared per line. */
const SAMPLE = 200

const fold = (line: string): string =>
  line.trimStart().slice(0, SAMPLE).trimEnd().replace(/\s+/g, ' ')

const pairsOf = (line: string): Set<string> => {
  const pairs = new Set<string>()
  for (let at = 0; at + 1 < line.length; at++) pairs.add(line.slice(at, at + 2))
  return pairs
}

/** 0 for nothing in common, 1 for equal. */
const likeness = (a: Set<string>, line: string): number => {
  const b = pairsOf(line)
  if (a.size + b.size === 0) return 0
  let both = 0
  for (const pair of b) if (a.has(pair)) both++
  return (2 * both) / (a.size + b.size)
}

const LIKE_ENOUGH = 0.5
const MAX_LINES_COMPARED = 20_000

/** A sentence, and similar lines with their numbers if there are any. */
export const describeMiss = (lines: readonly string[], old: string): string => {
  const quoted = old.replace(/\n$/, '').split('\n')
  const start = nearest(lines, quoted)
  if (start === null) return 'Nothing in the file is like it.'
  const shown = lines
    .slice(start, start + Math.min(quoted.length, MAX_LINES))
    .map(
      (line, at) =>
        `${String(start + at + 1).padStart(5)}|${line.slice(0, MAX_LINE_CHARS).toWellFormed()}`,
    )
  return `${why(lines, quoted, start)} The nearest text is:\n${shown.join('\n')}`
}

const why = (lines: readonly string[], quoted: readonly string[], start: number): string => {
  const at = quoted.findIndex((line, offset) => line !== lines[start + offset])
  const [mine = '', theirs] = [quoted[at], lines[start + at]]
  if (theirs === undefined) return 'The file ends before the quoted text does.'
  const where = `line ${start + at + 1}`
  if (!theirs.isWellFormed())
    return `In ${where} the file holds bytes that are not text; quote around them.`
  if (mine.trim() === theirs.trim()) return `The indentation differs in ${where}.`
  if (fold(mine) === fold(theirs)) return `White space inside ${where} differs.`
  if (mine.toLowerCase() === theirs.toLowerCase()) return `Upper and lower case differ in ${where}.`
  return `The text differs in ${where}.`
}

/** First line of the most similar window; null if none is similar enough. */
const nearest = (lines: readonly string[], quoted: readonly string[]): number | null => {
  const wanted = quoted.map(fold)
  const scores = new Map<number, number>()
  const add = (at: number, score: number) => scores.set(at, (scores.get(at) ?? 0) + score)
  const offsetsOf = Map.groupBy(
    wanted.map((line, offset) => ({ line, offset })).filter(({ line }) => line !== ''),
    ({ line }) => line,
  )
  for (const [at, line] of lines.entries())
    for (const { offset } of offsetsOf.get(fold(line)) ?? []) if (at >= offset) add(at - offset, 1)
  if (scores.size === 0) {
    const offset = longest(wanted)
    const pairs = pairsOf(wanted[offset] ?? '')
    for (const [at, line] of lines.slice(0, MAX_LINES_COMPARED).entries()) {
      const score = likeness(pairs, fold(line))
      if (score >= LIKE_ENOUGH) add(Math.max(0, at - offset), score)
    }
  }
  let best: number | null = null
  for (const [at, score] of scores) if (best === null || score > (scores.get(best) ?? 0)) best = at
  return best
}

const longest = (lines: readonly string[]): number => {
  let best = 0
  for (const [at, line] of lines.entries()) if (line.length > (lines[best]?.length ?? 0)) best = at
  return best
}
