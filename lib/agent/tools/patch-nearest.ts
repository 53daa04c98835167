/** Explains why a quotation wasn't found and shows the most similar lines, so that the model can correct it. */
import type { Source } from './patch-match.ts'
import { findMistake } from './patch-mistakes.ts'

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

const linesOf = (quoted: string): string[] => quoted.replace(/\n$/, '').split('\n')

/** A sentence, and similar lines with their numbers if there are any. */
export const describeMiss = (source: Source, old: string): string => {
  const { lines } = source
  const mistake = findMistake(source, old)
  const quoted = linesOf(mistake?.corrected ?? old)
  const start = nearest(lines, quoted)
  if (start === null) return mistake?.sentence ?? 'Nothing in the file is like it.'
  const blank = mistake ? null : differentBlankLines(lines, quoted, start)
  const count = blank?.count ?? quoted.length
  const shown = lines
    .slice(start, start + Math.min(count, MAX_LINES))
    .map(
      (line, at) =>
        `${String(start + at + 1).padStart(5)}|${line.slice(0, MAX_LINE_CHARS).toWellFormed()}`,
    )
  const reason = mistake?.sentence ?? blank?.sentence ?? why(lines, quoted, start)
  return `${reason} The nearest text is:\n${shown.join('\n')}`
}

/** Where the text differs only in blank lines: a sentence, and the number of lines in the file. */
const differentBlankLines = (
  lines: readonly string[],
  quoted: readonly string[],
  start: number,
): { sentence: string; count: number } | null => {
  let at = start
  let sentence = ''
  for (const [nth, line] of quoted.entries()) {
    if (fold(line) === '') {
      if (fold(lines[at] ?? '-') === '') at++
      else sentence ||= `Before line ${at + 1}, the quotation has a blank line that the file lacks.`
      continue
    }
    while (nth > 0 && fold(lines[at] ?? '-') === '') {
      sentence ||= `Line ${at + 1} is blank in the file and missing in the quotation.`
      at++
    }
    // The quotation may end within a line.
    const there = fold(lines[at] ?? '')
    if (there !== fold(line) && !(nth === quoted.length - 1 && there.startsWith(fold(line))))
      return null
    at++
  }
  return sentence === '' ? null : { sentence, count: at - start }
}

const why = (lines: readonly string[], quoted: readonly string[], start: number): string => {
  const at = quoted.findIndex((line, offset) => line.trimEnd() !== lines[start + offset]?.trimEnd())
  const [mine = '', theirs] = [quoted[at], lines[start + at]]
  if (theirs === undefined) return 'The file ends before the quoted text does.'
  const where = `line ${start + at + 1}`
  if (!theirs.isWellFormed())
    return `In ${where} the file holds bytes that are not text; quote around them.`
  if (mine.trim() === theirs.trim()) return `The indentation differs in ${where}.`
  if (fold(mine) === fold(theirs)) return `White space inside ${where} differs.`
  if (mine.toLowerCase() === theirs.toLowerCase()) return `Upper and lower case differ in ${where}.`
  return `The text differs in ${where}${firstDifference(mine.trimStart(), theirs.trimStart())}.`
}

const SNIPPET = 24

/** Where two lines that begin alike part; empty for lines that have too little in common. */
const firstDifference = (mine: string, theirs: string): string => {
  let at = 0
  while (at < Math.min(mine.length, theirs.length) && mine[at] === theirs[at]) at++
  if (at < 4) return ''
  const from = (line: string): string => {
    const rest = line.slice(at, at + SNIPPET).toWellFormed()
    return rest === '' ? 'nothing' : `«${rest}»`
  }
  const before = theirs.slice(Math.max(0, at - SNIPPET), at).toWellFormed()
  return `: after «${before}» the file has ${from(theirs)}, the quotation ${from(mine)}`
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
