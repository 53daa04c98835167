/** Explains why a quotation wasn't found and shows the most similar lines, so that the model can correct it. */
import { toPlainSigns } from './look-alike.ts'
import { linesIn, type Source } from './patch-match.ts'

const MAX_LINES = 12
const MAX_LINE_CHARS = 300
const MAX_LINES_COMPARED = 20_000
const LIKE_ENOUGH = 0.5

const fold = (line: string): string => line.trim().slice(0, 200).replace(/\s+/g, ' ')

const pairsOf = (line: string): Set<string> =>
  new Set(Array.from({ length: Math.max(0, line.length - 1) }, (_, at) => line.slice(at, at + 2)))

/** 0 for nothing in common, 1 for equal. */
const likeness = (a: Set<string>, b: Set<string>): number =>
  (2 * a.intersection(b).size) / Math.max(1, a.size + b.size)

/** A sentence, and similar lines with their numbers if there are any. */
export const describeMiss = ({ text, lines }: Source, old: string): string => {
  const quoted = linesIn(old)
  const file = lines.map(line => line.text)
  const plain = toPlainSigns(text)
  const alike = plain.indexOf(toPlainSigns(old))
  const start =
    alike < 0 ? nearest(file, quoted) : (plain.slice(0, alike).match(/\n/g)?.length ?? 0)
  if (start === null) return 'Nothing in the file is like it.'
  const excerpt = file
    .slice(start, start + Math.min(quoted.length, MAX_LINES))
    .map(
      (line, at) =>
        `${String(start + at + 1).padStart(5)}|${line.slice(0, MAX_LINE_CHARS).toWellFormed()}`,
    )
  const reason =
    alike < 0
      ? why(file, quoted, start)
      : 'It is there with other characters that look the same (accents, quotation marks, dashes): quote whole lines.'
  return `${reason} The nearest text is:\n${excerpt.join('\n')}`
}

const why = (file: readonly string[], quoted: readonly string[], start: number): string => {
  const at = quoted.findIndex((line, offset) => line.trimEnd() !== file[start + offset]?.trimEnd())
  const [mine = '', theirs] = [quoted[at], file[start + at]]
  if (theirs === undefined) return 'The file ends before the quoted text does.'
  if (!theirs.isWellFormed())
    return `In line ${start + at + 1} the file holds bytes that are not text; quote around them.`
  const [there, here] = [theirs, mine].map(line => JSON.stringify(line.slice(0, MAX_LINE_CHARS)))
  return `Line ${start + at + 1} is ${there} in the file and ${here} in the quotation.`
}

/** First line of the most similar window; null if none is similar enough. */
const nearest = (file: readonly string[], quoted: readonly string[]): number | null => {
  const texts = quoted.map(fold)
  const scores = new Map<number, number>()
  const add = (at: number, score: number) => scores.set(at, (scores.get(at) ?? 0) + score)
  const offsets = Map.groupBy(texts.keys(), offset => texts[offset] ?? '')
  for (const [at, line] of file.entries())
    for (const offset of (fold(line) !== '' && offsets.get(fold(line))) || [])
      if (at >= offset) add(at - offset, 1)
  if (scores.size === 0) {
    const longest = texts.reduce((best, line) => (line.length > best.length ? line : best), '')
    const pairs = pairsOf(longest)
    for (const [at, line] of file.slice(0, MAX_LINES_COMPARED).entries()) {
      const score = likeness(pairs, pairsOf(fold(line)))
      if (score >= LIKE_ENOUGH) add(Math.max(0, at - texts.indexOf(longest)), score)
    }
  }
  const [best] = [...scores].toSorted(([, a], [, b]) => b - a)
  return best?.[0] ?? null
}
