/** Parses the V4A patch format (`*** Begin Patch` … `*** End Patch`) and converts its hunks to edits. */
import type { Edit } from '../../store/text-bytes.ts'
import { findLines, findMatches, type Match, replaceLines, type Source } from './patch-match.ts'
import { describeMiss } from './patch-nearest.ts'

export type Hunk = {
  anchors: string[]
  /** Line number from a unified diff header, from 1. */
  line: number | null
  old: string[]
  fresh: string[]
  atEnd: boolean
}

export type Operation =
  | { kind: 'add'; path: string; text: string }
  | { kind: 'delete'; path: string }
  | { kind: 'update'; path: string; moveTo: string | null; hunks: Hunk[] }

const HEAD = /^\*\*\* (Add|Update|Delete) File: (.+)$/
const MOVE = /^\*\*\* Move to: (.+)$/

/** What is given says which mode is meant; `mode` decides when both are. */
export const isPatchCall = ({
  mode,
  patch,
  old_string: old,
}: {
  mode?: unknown
  patch?: unknown
  old_string?: unknown
}): boolean => typeof patch === 'string' && patch !== '' && (mode === 'patch' || old === undefined)

/** Throws an error that names the invalid line. */
export const parsePatch = (patch: string): Operation[] => {
  const lines = fromUnifiedDiff(patch.replace(/\r\n/g, '\n').split('\n'))
  const from = lines.findIndex(line => line.trim() === '*** Begin Patch')
  const to = lines.findIndex(line => line.trim() === '*** End Patch')
  const body = lines.slice(from + 1, to < 0 ? lines.length : to)
  const operations: Operation[] = []
  let current: Operation | null = null
  body.forEach((line, at) => {
    const head = HEAD.exec(line.trimEnd())
    if (head) {
      current = open(head[1] ?? '', (head[2] ?? '').trim())
      operations.push(current)
    } else if (current?.kind === 'add') {
      if (line.startsWith('+')) current.text += `${line.slice(1)}\n`
      else if (line.trim() !== '') throw unreadable(line, from + at + 2)
    } else if (current?.kind === 'update') readUpdate(current, line, from + at + 2)
    else if (line.trim() !== '') throw unreadable(line, from + at + 2)
  })
  if (operations.length === 0)
    throw new Error('The patch names no file. Begin with "*** Update File: <path>".')
  return operations
}

const unreadable = (line: string, number: number) =>
  new Error(
    `Line ${number} of the patch cannot be read: ${line.slice(0, 120)}\nIn "*** Update File: <path>", each line begins with a space, - or +, or is an @@ line; in "*** Add File: <path>", each begins with +.`,
  )

const open = (verb: string, path: string): Operation => {
  if (verb === 'Add') return { kind: 'add', path, text: '' }
  if (verb === 'Delete') return { kind: 'delete', path }
  return { kind: 'update', path, moveTo: null, hunks: [] }
}

const readUpdate = (
  update: Extract<Operation, { kind: 'update' }>,
  line: string,
  number: number,
): void => {
  const move = MOVE.exec(line.trimEnd())
  if (move) {
    update.moveTo = (move[1] ?? '').trim()
    return
  }
  const last = update.hunks.at(-1)
  if (line.startsWith('@@')) {
    const anchor = line.replace(/^@@ ?/, '').replace(/ ?@@$/, '')
    const nested = last && last.old.length === 0 && last.fresh.length === 0
    const hunk = nested ? last : newHunk()
    const numbers = /^-(\d+)(?:,\d+)? \+\d+/.exec(anchor)
    if (numbers) hunk.line = Number(numbers[1])
    else if (anchor.trim() !== '') hunk.anchors.push(anchor)
    if (!nested) update.hunks.push(hunk)
    return
  }
  const hunk = last ?? newHunk()
  if (!last) update.hunks.push(hunk)
  if (line.trim() === '*** End of File') hunk.atEnd = true
  else if (line.startsWith('+')) hunk.fresh.push(line.slice(1))
  else if (line.startsWith('-')) hunk.old.push(line.slice(1))
  else if (line.startsWith(' ') || line === '') {
    hunk.old.push(line.slice(1))
    hunk.fresh.push(line.slice(1))
  } else throw unreadable(line, number)
}

const newHunk = (): Hunk => ({ anchors: [], line: null, old: [], fresh: [], atEnd: false })

/** Applies hunks in order, each after the previous one. Throws if one doesn't match exactly one position. */
export const planHunks = (source: Source, hunks: readonly Hunk[], path: string): Edit[] => {
  let from = 0
  return hunks.flatMap(hunk => {
    const { edits, end } = planHunk(source, hunk, from, path)
    from = end
    return edits
  })
}

/** `end`: the line after the hunk. */
type Planned = { edits: Edit[]; end: number }

const planHunk = (source: Source, hunk: Hunk, from: number, path: string): Planned => {
  const anchors = passAnchors(source, hunk.anchors, from, path)
  // A trailing empty line of a patch has no meaning.
  const [old, fresh] = withoutBlankTail(hunk)
  if (old.length === 0) return insert(source, { ...hunk, fresh }, anchors, path)
  const matches = findLines(source, old, fresh, from)
  const quoted = old.join('\n')
  if (matches.length === 0)
    throw new Error(
      `${path}: these lines were not found:\n${quoted.slice(0, 600)}\n${describeMiss(source, quoted)}`,
    )
  const match = pick(source, { ...hunk, old }, matches, anchors)
  if (!match)
    throw new Error(
      `${path}: these lines are at ${matches.length} places:\n${quoted.slice(0, 600)}\nAdd lines around them, or an @@ line that is there once.`,
    )
  return { edits: match.edits(), end: match.line + old.length }
}

/** The only matching position; undefined if there are several. */
const pick = (
  { lines }: Source,
  { atEnd, line, old }: Hunk,
  matches: readonly Match[],
  anchors: readonly number[] | null,
): Match | undefined => {
  if (atEnd) {
    const last = matches.at(-1)
    const rest = lines.slice((last?.line ?? 0) + old.length)
    return rest.every(({ text }) => text.trim() === '') ? last : undefined
  }
  if (matches.length === 1) return matches[0]
  if (!anchors) return matches.find(match => match.line + 1 === line)
  // Models sometimes repeat the anchor as the first line of the hunk.
  const behind = anchors.flatMap((anchor, at) => {
    const next = anchors[at + 1] ?? Infinity
    return matches.find(match => match.line >= anchor && match.line < next) ?? []
  })
  return behind.length === 1 ? behind[0] : undefined
}

/** The lines of the last anchor, where the anchors follow one another; null without anchors. */
const passAnchors = (
  source: Source,
  anchors: readonly string[],
  from: number,
  path: string,
): number[] | null => {
  if (anchors.length === 0) return null
  return anchors.reduce<number[] | null>((places, anchor) => {
    const all = findMatches(source, anchor, anchor).flatMap(({ line }) =>
      line >= from ? [line] : [],
    )
    const after =
      places?.flatMap((line, at) => {
        const next = places[at + 1] ?? Infinity
        return all.find(each => each > line && each < next) ?? []
      }) ?? all
    if (after.length > 0) return after
    throw new Error(`${path}: the line "${anchor.trim().slice(0, 80)}" was not found.`)
  }, null)
}

/** Inserts new lines: after the anchor, or at the end of the file. */
const insert = (
  source: Source,
  { fresh, atEnd }: Hunk,
  anchors: readonly number[] | null,
  path: string,
): Planned => {
  if (fresh.length === 0) throw new Error(`${path}: a hunk of the patch changes nothing.`)
  if (anchors && anchors.length > 1 && !atEnd)
    throw new Error(`${path}: the @@ line is at ${anchors.length} places. Add lines around it.`)
  const line = anchors && !atEnd ? (anchors[0] ?? 0) + 1 : source.lines.length
  return { edits: [replaceLines(source, line, line, fresh)], end: line }
}

const withoutBlankTail = ({ old, fresh }: Hunk): [string[], string[]] => {
  let count = 0
  while (old.length - count > 1 && old.at(-1 - count) === '' && fresh.at(-1 - count) === '') count++
  return [old.slice(0, old.length - count), fresh.slice(0, fresh.length - count)]
}

const HEADER =
  /^(?:diff --git |index [0-9a-f]+\.\.|(?:new|deleted) file mode |(?:old|new) mode |similarity index |\\ No newline at end of file)/
const FENCE = /^```[\w-]*\s*$/

/** A patch in another format is returned as it is. */
const fromUnifiedDiff = (lines: readonly string[]): string[] => {
  const isDiff = lines.some((_, at) => isHead(lines, at) || RENAME_FROM.test(lines[at] ?? ''))
  if (!isDiff || lines.some(line => /^\*\*\* (?:Begin Patch|Update File:)/.test(line)))
    return [...lines]
  const converted: string[] = []
  let isDeleted = false
  let isAdded = false
  let renamedFrom: string | null = null
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? ''
    const from = RENAME_FROM.exec(line)?.[1]
    const to = /^rename to (.+)$/.exec(line)?.[1]
    if (from !== undefined) renamedFrom = from
    else if (to !== undefined && renamedFrom !== null) {
      converted.push(`*** Update File: ${renamedFrom}`, `*** Move to: ${to}`)
      isDeleted = isAdded = false
    } else if (isHead(lines, at)) {
      const before = pathIn(line)
      const after = pathIn(lines[at + 1] ?? '')
      isDeleted = after === null
      isAdded = before === null
      if (isDeleted) converted.push(`*** Delete File: ${before}`)
      else if (isAdded) converted.push(`*** Add File: ${after}`)
      // A renamed file has its head already.
      else if (renamedFrom === null) converted.push(`*** Update File: ${after}`)
      renamedFrom = null
      at++
    } else if (HEADER.test(line)) {
      if (line.startsWith('diff --git ')) renamedFrom = null
    } else if (!FENCE.test(line) && !isDeleted && !(isAdded && line.startsWith('@@')))
      converted.push(line)
  }
  return converted
}

const RENAME_FROM = /^rename from (.+)$/

/** `--- a` and `+++ b`, and then a hunk or the next file: a removed line may begin with dashes, too. */
const isHead = (lines: readonly string[], at: number): boolean =>
  /^--- \S/.test(lines[at] ?? '') &&
  /^\+\+\+ \S/.test(lines[at + 1] ?? '') &&
  /^(?:@@|diff --git |--- |```|\s*$)/.test(lines[at + 2] ?? '')

/** Null for `/dev/null`. Without the prefix `a/` or `b/`, and without a time after a tab. */
const pathIn = (line: string): string | null => {
  const path = line.slice(4).split('\t')[0]?.trim() ?? ''
  return path === '/dev/null' ? null : path.replace(/^[ab]\//, '')
}
