/** Parses unified diffs into numbered lines with word-level marks. */

export type Mark = { text: string; changed: boolean }
export type DiffLine = {
  kind: 'same' | 'added' | 'removed' | 'gap'
  /** Line number after the change; before it for removed lines. */
  number: number
  parts: Mark[]
}
export type FileDiff = { path: string; lines: DiffLine[]; added: number; removed: number }

const hunk = /^@@+ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@/

export const parseDiff = (text: string): FileDiff[] => {
  const files: FileDiff[] = []
  let file: FileDiff | undefined
  let before = 1
  let after = 1
  let inHunk = false
  const begin = (path: string) => {
    file = { path, lines: [], added: 0, removed: 0 }
    files.push(file)
    inHunk = false
    before = 1
    after = 1
  }
  const all = text.replace(/\n$/, '').split('\n')
  for (const [index, line] of all.entries()) {
    const header = line.startsWith('--- ') && all[index + 1]?.startsWith('+++ ')
    if (header) {
      const path = pathOf(all[index + 1]!.slice(4))
      begin(path === '/dev/null' ? pathOf(line.slice(4)) : path)
      continue
    }
    if (line.startsWith('+++ ') && all[index - 1]?.startsWith('--- ')) continue
    if (/^(diff |index |similarity |rename |new file|deleted file|old mode|new mode)/.test(line)) {
      if (line.startsWith('diff ')) inHunk = false
      continue
    }
    const start = hunk.exec(line)
    if (start) {
      if (!file) begin('')
      before = Number(start[1])
      after = Number(start[2])
      if (inHunk || after > 1) file!.lines.push({ kind: 'gap', number: after, parts: [] })
      inHunk = true
      continue
    }
    if (!file) begin('')
    const parts = [{ text: line.slice(1), changed: false }]
    if (line.startsWith('+')) {
      file!.lines.push({ kind: 'added', number: after++, parts })
      file!.added++
    } else if (line.startsWith('-')) {
      file!.lines.push({ kind: 'removed', number: before++, parts })
      file!.removed++
    } else if (line.startsWith(' ') || line === '') {
      file!.lines.push({ kind: 'same', number: after++, parts })
      before++
    }
  }
  for (const { lines } of files) markWords(lines)
  return files
}

const pathOf = (text: string): string =>
  text
    .split('\t')[0]!
    .trim()
    .replace(/^[ab]\//, '')

/** Removed lines followed by the same number of added lines are compared pairwise. */
const markWords = (lines: DiffLine[]) => {
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

const words = (text: string): string[] => text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? []

/** Maximum table size for comparing two lines. */
const MAX_CELLS = 40_000

/** Splits both lines into common and changed words; null when too little is common for marks to help. */
export const compareWords = (old: string, fresh: string): [Mark[], Mark[]] | null => {
  const left = words(old)
  const right = words(fresh)
  if (left.length * right.length > MAX_CELLS) return null
  // Longest common subsequence, lengths from the end.
  const wide = right.length + 1
  const table = new Uint16Array((left.length + 1) * wide)
  for (let i = left.length - 1; i >= 0; i--) {
    for (let j = right.length - 1; j >= 0; j--) {
      table[i * wide + j] =
        left[i] === right[j]
          ? table[(i + 1) * wide + j + 1]! + 1
          : Math.max(table[(i + 1) * wide + j]!, table[i * wide + j + 1]!)
    }
  }
  const kept = { left: new Set<number>(), right: new Set<number>() }
  let letters = 0
  for (let i = 0, j = 0; i < left.length && j < right.length; ) {
    if (left[i] === right[j]) {
      kept.left.add(i)
      kept.right.add(j)
      letters += left[i]!.trim().length
      i++
      j++
    } else if (table[(i + 1) * wide + j]! >= table[i * wide + j + 1]!) i++
    else j++
  }
  if (letters * 3 < Math.max(old.trim().length, fresh.trim().length)) return null
  return [marked(left, kept.left), marked(right, kept.right)]
}

const marked = (all: string[], kept: Set<number>): Mark[] => {
  const marks: Mark[] = []
  for (const [index, text] of all.entries()) {
    // Whitespace between two changed words belongs to the change.
    const changed =
      !kept.has(index) ||
      (!text.trim() &&
        !kept.has(index - 1) &&
        index > 0 &&
        !kept.has(index + 1) &&
        index < all.length - 1)
    const last = marks.at(-1)
    if (last?.changed === changed) last.text += text
    else marks.push({ text, changed })
  }
  return marks
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
