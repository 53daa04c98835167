/** Reads the V4A patch format (`*** Begin Patch` … `*** End Patch`) and applies its hunks to text. */
import { findMatches } from './patch-match.ts'

export type Hunk = { anchors: string[]; old: string[]; fresh: string[]; atEnd: boolean }

export type Operation =
  | { kind: 'add'; path: string; text: string }
  | { kind: 'delete'; path: string }
  | { kind: 'update'; path: string; moveTo: string | null; hunks: Hunk[] }

const HEAD = /^\*\*\* (Add|Update|Delete) File: (.+)$/
const MOVE = /^\*\*\* Move to: (.+)$/

/** Throws a sentence naming the line that cannot be read. */
export const parsePatch = (patch: string): Operation[] => {
  const lines = patch.replace(/\r\n/g, '\n').split('\n')
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
  new Error(`Line ${number} of the patch cannot be read: ${line.slice(0, 120)}`)

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
    // A unified diff's line numbers say nothing that the lines themselves do not.
    if (anchor.trim() !== '' && !/^-\d+(?:,\d+)? \+\d+/.test(anchor)) hunk.anchors.push(anchor)
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

const newHunk = (): Hunk => ({ anchors: [], old: [], fresh: [], atEnd: false })

/** Hunks apply one after the other, each behind the one before. Throws a sentence when one fits nowhere. */
export const applyHunks = (text: string, hunks: readonly Hunk[], path: string): string => {
  let done = ''
  let rest = text
  for (const hunk of hunks) {
    const { start, end, replacement } = locate(rest, hunk, path)
    done += rest.slice(0, start) + replacement
    rest = rest.slice(end)
  }
  return done + rest
}

type Located = { start: number; end: number; replacement: string }

/** Behind the anchors; models also write an anchor that is the first line of the hunk itself. */
const locate = (text: string, hunk: Hunk, path: string): Located => {
  const { before, after } = passAnchors(text, hunk.anchors, path)
  for (const from of new Set([after, before])) {
    const found = place(text.slice(from), hunk)
    if (found) return { ...found, start: found.start + from, end: found.end + from }
  }
  throw new Error(
    `${path}: these lines were not found:\n${hunk.old.join('\n').slice(0, 600)}\nRead the file again and use its exact lines.`,
  )
}

/** The beginning of the last anchor's line, and of the line behind it. */
const passAnchors = (text: string, anchors: readonly string[], path: string) => {
  let before = 0
  let after = 0
  for (const anchor of anchors) {
    const [first] = findMatches(text.slice(after), anchor, anchor).matches
    if (!first) throw new Error(`${path}: the line "${anchor.trim().slice(0, 80)}" was not found.`)
    before = text.lastIndexOf('\n', after + first.start - 1) + 1
    const lineEnd = text.indexOf('\n', after + first.end)
    after = lineEnd < 0 ? text.length : lineEnd + 1
  }
  return { before, after }
}

const place = (text: string, hunk: Hunk): Located | undefined => {
  // A patch that ends with an empty line means nothing by it.
  const [old, fresh] = withoutBlankTail(hunk)
  if (old.length === 0) {
    const at = hunk.anchors.length > 0 && !hunk.atEnd ? 0 : text.length
    const gap = at === text.length && text !== '' && !text.endsWith('\n') ? '\n' : ''
    return { start: at, end: at, replacement: `${gap}${fresh.join('\n')}\n` }
  }
  const lines = (list: string[]) => (list.length > 0 ? `${list.join('\n')}\n` : '')
  const whole = findMatches(text, lines(old), lines(fresh)).matches
  // The last line of a file may lack its line break.
  const found =
    whole.length > 0 ? whole : findMatches(text, old.join('\n'), fresh.join('\n')).matches
  return hunk.atEnd ? found.at(-1) : found[0]
}

const withoutBlankTail = ({ old, fresh }: Hunk): [string[], string[]] =>
  old.length > 1 && old.at(-1) === '' && fresh.at(-1) === ''
    ? withoutBlankTail({
        anchors: [],
        atEnd: false,
        old: old.slice(0, -1),
        fresh: fresh.slice(0, -1),
      })
    : [old, fresh]
