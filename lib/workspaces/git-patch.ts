/** Takes lines out of a diff of one file, so that git applies only the chosen ones. Works on bytes, as Latin-1 text. */
import { invalid } from '../errors.ts'

type Line = { text: string; isLast: boolean; index: number }
type Hunk = { oldStart: number; newStart: number; lines: Line[] }
export type FilePatch = { header: string[]; hunks: Hunk[] }

const HUNK = /^@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/
const NO_NEWLINE = '\\ No newline at end of file'

/** `index` numbers the added and removed lines of the file from 0, the way the page counts them. */
export const parsePatch = (diff: string): FilePatch => {
  const header: string[] = []
  const hunks: Hunk[] = []
  let count = 0
  for (const text of diff.replace(/\n$/, '').split('\n')) {
    const start = HUNK.exec(text)
    const hunk = hunks.at(-1)
    if (start) hunks.push({ oldStart: Number(start[1]), newStart: Number(start[2]), lines: [] })
    else if (!hunk) header.push(text)
    else if (text.startsWith('\\')) hunk.lines.at(-1)!.isLast = true
    else hunk.lines.push({ text, isLast: false, index: /^[-+]/.test(text) ? count++ : -1 })
  }
  return { header, hunks }
}

/** Only a change of text in a file that stays where it is can be taken apart. */
export const isDivisible = ({ header, hunks }: FilePatch): boolean =>
  hunks.length > 0 &&
  !header.some(line =>
    /^(?:new file|deleted file|rename |copy |similarity |Binary |GIT binary)|^index [0-9a-f.]+ 160000/.test(
      line,
    ),
  )

/** Lines of a hunk after the choice. Backwards, the result is applied in reverse: what is not chosen stays as it is after the change. */
const choose = (lines: readonly Line[], chosen: ReadonlySet<number>, isReverse: boolean): Line[] =>
  lines.flatMap(line => {
    const kind = line.text[0]
    if (line.index < 0 || chosen.has(line.index)) return [line]
    const stays = kind === (isReverse ? '+' : '-')
    return stays ? [{ ...line, text: ` ${line.text.slice(1)}` }] : []
  })

const count = (lines: readonly Line[], kinds: string): number =>
  lines.filter(({ text }) => kinds.includes(text[0] ?? '')).length

/** A line without a line break must be the last one of both versions. */
const checkEnd = (lines: readonly Line[]): void => {
  for (const [at, { isLast, text }] of lines.entries()) {
    if (!isLast) continue
    const kind = text[0] ?? ''
    const isFollowed = lines
      .slice(at + 1)
      .some(({ text: next }) => kind === ' ' || next[0] === ' ' || next[0] === kind)
    if (isFollowed)
      throw invalid(
        'The file’s last line has no line break, so these lines can only be chosen together with the last line.',
        { code: 'git_last_line' },
      )
  }
}

/** The patch with the chosen lines only. Throws when nothing is chosen or a number names no line. */
export const selectLines = (
  patch: FilePatch,
  lines: readonly number[],
  isReverse: boolean,
): string => {
  const chosen = new Set(lines)
  const all = new Set(patch.hunks.flatMap(hunk => hunk.lines.map(({ index }) => index)))
  if (chosen.size === 0 || [...chosen].some(index => index < 0 || !all.has(index)))
    throw invalid('These lines are not part of the change.', { code: 'git_diff_changed' })
  const out = patch.header.filter(line => !/^(?:old mode|new mode) /.test(line))
  /** How many lines the hunks so far add. */
  let shift = 0
  for (const hunk of patch.hunks) {
    const body = choose(hunk.lines, chosen, isReverse)
    const [old, fresh] = [count(body, ' -'), count(body, ' +')]
    if (!body.some(({ index, text }) => index >= 0 && text[0] !== ' ')) continue
    checkEnd(body)
    // The side that is applied to keeps its numbers. An empty side names the line before it.
    const at = (start: number, size: number, wasEmpty: boolean) =>
      start + (wasEmpty && size > 0 ? 1 : 0)
    const oldStart = isReverse ? hunk.newStart - shift : hunk.oldStart
    const newStart = isReverse ? hunk.newStart : hunk.oldStart + shift
    const wasOldEmpty = count(hunk.lines, ' -') === 0
    out.push(
      `@@ -${at(oldStart, old, wasOldEmpty && isReverse)},${old} +${at(newStart, fresh, wasOldEmpty && !isReverse)},${fresh} @@`,
    )
    for (const { text, isLast } of body) out.push(text, ...(isLast ? [NO_NEWLINE] : []))
    shift += fresh - old
  }
  return `${out.join('\n')}\n`
}
