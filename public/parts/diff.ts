/** Reads unified diffs for display, with line numbers and word-level marks. Every line of the text is shown, also where it is no valid diff. */
import { diffArrays, parsePatch } from 'diff'

export type Mark = { text: string; changed: boolean }
export type DiffLine = {
  /** `gap`: lines are left out here. `note`: a line that is neither of the old nor of the new text. */
  kind: 'same' | 'added' | 'removed' | 'gap' | 'note'
  /** Line number after the change; before it for removed lines. */
  number: number
  parts: Mark[]
}
export type FileDiff = { path: string; lines: DiffLine[]; added: number; removed: number }
/** `header` is empty for lines above the first hunk, such as those about a changed mode. */
export type DiffHunk = { header: string; lines: DiffLine[] }
export type ParsedFile = FileDiff & { hunks: DiffHunk[] }

const HUNK = /^(@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@)(.*)$/
/** Lines above the hunks that are not shown: a view has the name of the file in its head. */
const IMPLIED =
  /^(?:diff --git |Index: |index [\da-f]+\.\.[\da-f]+(?: \d+)?$|similarity index \d+%$|new file mode 100644$|deleted file mode \d+$|={67}$)/
const TIME = /^(?:\d{4}-\d\d-\d\d [\d:. +-]*)?$/

type Draft = { head: string[]; hunks: (DiffHunk & { gap?: DiffLine })[] }

const lineOf = (kind: DiffLine['kind'], number: number, text: string): DiffLine => ({
  kind,
  number,
  parts: [{ text, changed: false }],
})

/**
 * A hunk has as many lines as its header says: a removed line `-- a` followed by an added line `++ b` looks like the names
 * of another file. The parser of the package is for the names only; it skips lines between hunks, which would hide them.
 */
export const parseDiff = (text: string): ParsedFile[] => {
  const files: Draft[] = []
  let before = 1
  let after = 1
  /** Lines that the hunk still has. */
  let rest = { old: 0, fresh: 0 }
  const begin = (): Draft => {
    const file: Draft = { head: [], hunks: [] }
    files.push(file)
    before = after = 1
    return file
  }
  const add = (kind: DiffLine['kind'], number: number, line: string) => {
    const { hunks } = files.at(-1) ?? begin()
    if (hunks.length === 0) hunks.push({ header: '', lines: [] })
    hunks.at(-1)!.lines.push(lineOf(kind, number, line))
  }
  const all = text.replace(/\n$/, '').split('\n')
  for (let at = 0; at < all.length; at++) {
    const line = all[at]!
    const isIn = rest.old > 0 || rest.fresh > 0
    const isSame = rest.old > 0 && rest.fresh > 0 && /^(?: |\r?$)/.test(line)
    const isRemoved = line.startsWith('-') && (rest.old > 0 || !isIn)
    const isAdded = line.startsWith('+') && (rest.fresh > 0 || !isIn)
    const isBackslash = line.startsWith('\\')
    if (isIn && !isSame && !isRemoved && !isAdded && !isBackslash) rest = { old: 0, fresh: 0 }
    const start = HUNK.exec(line)
    const file = files.at(-1)
    if (isBackslash) add('note', after, line.replace(/^\\ ?/, ''))
    else if (!isIn && line.startsWith('--- ') && all[at + 1]?.startsWith('+++ ')) {
      const isNamed = !file || isBegun(file) || file.head.some(each => each.startsWith('--- '))
      ;(isNamed ? begin() : file).head.push(line, all[++at]!)
    } else if (isSame) {
      add('same', after++, line.slice(1))
      before++
      rest.old--
      rest.fresh--
    } else if (isRemoved) {
      add('removed', before++, line.slice(1))
      rest.old--
    } else if (isAdded) {
      add('added', after++, line.slice(1))
      rest.fresh--
    } else if (start) {
      const [, header = '', oldStart, oldLines = '1', freshStart, freshLines = '1', heading = ''] =
        start
      rest = { old: Number(oldLines), fresh: Number(freshLines) }
      before = Number(oldStart)
      after = Number(freshStart)
      const { hunks } = file ?? begin()
      const isGap = after > 1 || heading.trim() !== '' || hunks.some(hunk => hunk.header)
      hunks.push({ header, lines: [], ...(isGap && { gap: lineOf('gap', after, heading.trim()) }) })
    } else if (line.startsWith('diff --git ') || line.startsWith('Index: ')) begin().head.push(line)
    else if (line.trim() !== '') {
      ;(file ?? begin()).head.push(line)
      if (!IMPLIED.test(line)) add('note', after, line)
    }
  }
  return files.map(toFile)
}

/** Whether the file has more than its head. */
const isBegun = ({ hunks }: Draft): boolean =>
  hunks.some(({ header, lines }) => header !== '' || lines.some(({ kind }) => kind !== 'note'))

const toFile = ({ head, hunks }: Draft): ParsedFile => {
  const { path, notes } = namesIn(head)
  if (notes.length > 0)
    hunks.unshift({ header: '', lines: notes.map(note => lineOf('note', 1, note)) })
  for (const { lines } of hunks) markWords(lines.filter(({ kind }) => kind !== 'note'))
  const lines = hunks.flatMap(({ gap, lines: own }) => (gap ? [gap, ...own] : own))
  const count = (kind: DiffLine['kind']) => lines.filter(line => line.kind === kind).length
  return { path, hunks, lines, added: count('added'), removed: count('removed') }
}

const NOTHING = '/dev/null'

/** The name of the file, and lines of its head that say more than this name. */
const namesIn = (head: readonly string[]): { path: string; notes: string[] } => {
  const names = head.filter(line => /^(?:---|\+\+\+) /.test(line))
  try {
    const [patch] = parsePatch(head.filter(line => !/^(?:Index:|=)/.test(line)).join('\n'))
    const [from = '', to = ''] = [patch?.oldFileName, patch?.newFileName]
    const isPrefixed =
      (from === NOTHING || /^a\//.test(from)) && (to === NOTHING || /^b\//.test(to))
    const [old, fresh] = [from, to].map(name =>
      isPrefixed && name !== NOTHING ? name.slice(2) : name,
    ) as [string, string]
    const isSame = old === fresh || old === NOTHING || fresh === NOTHING || patch?.isRename
    const isAll =
      isSame && [patch?.oldHeader, patch?.newHeader].every(rest => TIME.test(rest ?? ''))
    return { path: fresh === NOTHING ? old : fresh, notes: isAll ? [] : names }
  } catch {
    // Names that are no names: they are shown as they are.
    return { path: '', notes: names }
  }
}

/** Removed lines followed by the same number of added lines are compared pairwise. */
const markWords = (lines: readonly DiffLine[]) => {
  for (let at = 0; at < lines.length; ) {
    let removed = 0
    while (lines[at + removed]?.kind === 'removed') removed++
    let added = 0
    while (lines[at + removed + added]?.kind === 'added') added++
    if (removed > 0 && removed === added && removed <= 30) {
      for (let pair = 0; pair < removed; pair++) {
        const old = lines[at + pair]!
        const fresh = lines[at + removed + pair]!
        const marks = compareWords(old.parts[0]!.text, fresh.parts[0]!.text)
        if (marks) [old.parts, fresh.parts] = marks
      }
    }
    at += Math.max(1, removed + added)
  }
}

/** Of any script, unlike those of the package. */
const words = (text: string): string[] => text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? []

/** Lines that differ in more words are not compared. */
const MAX_CHANGED_WORDS = 200

/** Splits both lines into common and changed words; null when too little is common for marks to help. */
export const compareWords = (old: string, fresh: string): [Mark[], Mark[]] | null => {
  const changes = diffArrays(words(old), words(fresh), { maxEditLength: MAX_CHANGED_WORDS })
  if (!changes) return null
  const marks: [Mark[], Mark[]] = [[], []]
  let letters = 0
  for (const [at, { added, removed, value }] of changes.entries()) {
    const text = value.join('')
    const isCommon = !added && !removed
    if (isCommon) letters += text.replace(/\s/g, '').length
    // Whitespace between two changed words belongs to the change.
    const changed = !isCommon || (!text.trim() && at > 0 && at < changes.length - 1)
    for (const [side, isOther] of [added, removed].entries()) {
      const last = marks[side]!.at(-1)
      if (isOther) continue
      if (last?.changed === changed) last.text += text
      else marks[side]!.push({ text, changed })
    }
  }
  return letters * 3 < Math.max(old.trim().length, fresh.trim().length) ? null : marks
}

/** Diff of a replaced text, for edits whose tool returned none. */
export const diffOfEdit = (path: string, old: string, fresh: string): FileDiff => {
  const lines: DiffLine[] = []
  const side = (text: string, kind: 'removed' | 'added') => {
    if (text === '') return
    for (const [index, line] of text.replace(/\n$/, '').split('\n').entries()) {
      lines.push({ kind, number: index + 1, parts: [{ text: line, changed: false }] })
    }
  }
  side(old, 'removed')
  const removed = lines.length
  side(fresh, 'added')
  markWords(lines)
  return { path, lines, removed, added: lines.length - removed }
}
