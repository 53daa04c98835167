/** Takes single hunks of a change back, in the current text: other hunks may be taken back already, and other lines may have changed. */
import { type StructuredPatch, structuredPatch } from 'diff'

/** `context` lines around each hunk, as in the diff that the page shows: hunks are named by their headers there. */
export const DIFF_OPTIONS = { context: 3, timeout: 500 }

/** Undefined when the versions are too different to compare in time. */
const patchOf = (before: string, after: string, context: number): StructuredPatch | undefined =>
  structuredPatch('', '', before, after, '', '', { ...DIFF_OPTIONS, context })

/** Lines with their line feeds; only a line feed ends a line, as in a diff. */
const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+/g) ?? []

type Hunk = StructuredPatch['hunks'][number]

/** As the library writes it; the format states an empty range by the line before it. */
const rangeOf = (start: number, count: number): string =>
  `${count === 0 ? start - 1 : start},${count}`

/** The line that begins a hunk in a unified diff; unique in the diff of a file. */
const headerOf = ({ oldStart, oldLines, newStart, newLines }: Hunk): string =>
  `@@ -${rangeOf(oldStart, oldLines)} +${rangeOf(newStart, newLines)} @@`

/** A piece of the text after the change. `old` is its text before the change; the same between hunks. */
type Piece = { header: string | null; old: string; text: string }

const toPieces = (before: string, after: string, hunks: readonly Hunk[]): Piece[] => {
  const [oldLines, lines] = [linesOf(before), linesOf(after)]
  const pieces: Piece[] = []
  let at = 0
  const addUnchanged = (end: number) => {
    const text = lines.slice(at, end).join('')
    pieces.push({ header: null, old: text, text })
  }
  for (const hunk of hunks) {
    addUnchanged(hunk.newStart - 1)
    at = hunk.newStart - 1 + hunk.newLines
    const from = hunk.oldStart - 1
    pieces.push({
      header: headerOf(hunk),
      old: oldLines.slice(from, from + hunk.oldLines).join(''),
      text: lines.slice(hunk.newStart - 1, at).join(''),
    })
  }
  addUnchanged(lines.length)
  return pieces
}

/**
 * For each piece, the sets at which it can begin when `now` is the changed text with any of the hunks taken back; no
 * offset at all when `now` is something else. The last set contains the end of the text.
 */
const offsetsOf = (pieces: readonly Piece[], now: string): Set<number>[] => {
  const ends = ({ old, text }: Piece, at: number): number[] =>
    [...new Set([text, old])].filter(side => now.startsWith(side, at)).map(side => at + side.length)
  const sets = [new Set([0])]
  for (const piece of pieces) sets.push(new Set([...sets.at(-1)!].flatMap(at => ends(piece, at))))
  sets[pieces.length] = new Set(sets[pieces.length]!.has(now.length) ? [now.length] : [])
  for (let index = pieces.length - 1; index >= 0; index--) {
    const next = sets[index + 1]!
    const leads = (at: number) => ends(pieces[index]!, at).some(end => next.has(end))
    sets[index] = new Set([...sets[index]!].filter(leads))
  }
  return sets
}

/** `now` without one hunk, where nothing but hunks differs from the changed text. Null: other lines differ, or it is ambiguous. */
const withoutKnown = (pieces: readonly Piece[], index: number, now: string): string | null => {
  const sets = offsetsOf(pieces, now)
  const { old, text } = pieces[index]!
  const results = new Set<string>()
  for (const at of sets[index]!) {
    const end = at + text.length
    if (now.startsWith(text, at) && sets[index + 1]!.has(end))
      results.add(now.slice(0, at) + old + now.slice(end))
  }
  if (results.size > 1) return null
  // It is taken back already.
  if (results.size === 0) return sets[index]!.size > 0 ? now : null
  return [...results][0]!
}

/** The lines of a hunk without the unchanged ones at its ends, as ranges of lines from 0. */
const coreOf = ({ lines, oldStart, oldLines, newStart, newLines }: Hunk) => {
  const body = lines.filter(line => !line.startsWith('\\'))
  const isSame = (line: string) => line.startsWith(' ')
  const head = body.findIndex(line => !isSame(line))
  const tail = body.length - 1 - body.findLastIndex(line => !isSame(line))
  return {
    old: [oldStart - 1 + head, oldStart - 1 + oldLines - tail] as const,
    now: [newStart - 1 + head, newStart - 1 + newLines - tail] as const,
  }
}

/** `now` without one hunk, where other lines have changed since. Null when lines of the hunk, or next to it, have changed. */
const withoutMerged = (
  { before, after, now }: Record<'before' | 'after' | 'now', string>,
  hunk: Hunk,
): string | null => {
  const since = patchOf(after, now, 0)
  if (!since) return null
  const core = coreOf(hunk)
  const [from, to] = core.now
  let shift = 0
  for (const { oldStart, oldLines, newLines } of since.hunks) {
    const start = oldStart - 1
    if (start <= to && start + oldLines >= from) return null
    if (start < from) shift += newLines - oldLines
  }
  const lines = linesOf(now)
  lines.splice(from + shift, to - from, ...linesOf(before).slice(...core.old))
  return lines.join('')
}

export type Versions = { before: string; after: string; now: string }

/** Whether a change of a text is in, or next to, these of its lines. */
const touches = ({ hunks }: StructuredPatch, [from, to]: readonly [number, number]): boolean =>
  hunks.some(({ oldStart, oldLines }) => oldStart - 1 <= to && oldStart - 1 + oldLines >= from)

/** Headers of the hunks that are taken back already. */
export const hunksTakenBack = ({ before, after, now }: Versions): string[] => {
  const patch = patchOf(before, after, DIFF_OPTIONS.context)
  if (!patch || now === after) return []
  const pieces = toPieces(before, after, patch.hunks)
  const since = { before: patchOf(before, now, 0), after: patchOf(after, now, 0) }
  const isTakenBack = (hunk: Hunk): boolean => {
    const index = pieces.findIndex(({ header }) => header === headerOf(hunk))
    const without = withoutKnown(pieces, index, now)
    if (without !== null) return without === now
    // Other lines have changed, too: its lines must be those before it, and no longer those after it.
    if (!since.before || !since.after) return false
    const core = coreOf(hunk)
    return !touches(since.before, core.old) && touches(since.after, core.now)
  }
  return patch.hunks.filter(isTakenBack).map(headerOf)
}

/**
 * The text without these hunks of the change from `before` to `after`, named by their headers, or all hunks. `'unknown'`:
 * there is no such hunk. `'conflict'`: the lines have changed since.
 */
export const withoutHunks = (
  { before, after, now }: Versions,
  headers: readonly string[] | 'all',
): { text: string } | 'unknown' | 'conflict' => {
  const patch = patchOf(before, after, DIFF_OPTIONS.context)
  if (!patch) return 'unknown'
  const pieces = toPieces(before, after, patch.hunks)
  const list = headers === 'all' ? patch.hunks.map(headerOf) : headers
  let text = now
  for (const header of list) {
    const index = pieces.findIndex(piece => piece.header === header)
    const hunk = patch.hunks.find(each => headerOf(each) === header)
    if (!hunk) return 'unknown'
    const next =
      withoutKnown(pieces, index, text) ?? withoutMerged({ before, after, now: text }, hunk)
    if (next === null) return 'conflict'
    text = next
  }
  return { text }
}
