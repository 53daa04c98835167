/** Finds the text a model wants to replace, exactly where it can, by ever looser readings where it wrote it down wrongly. */

export type Match = { start: number; end: number; replacement: string }

type Reading = { name: string; find: (text: string, old: string, fresh: string) => Match[] }

const collapse = (line: string) => line.trim().replace(/\s+/g, ' ')
const straighten = (line: string) =>
  collapse(line)
    .replace(/[‘’‚‛]/g, "'")
    .replace(/[“”„‟]/g, '"')
    .replace(/[‐-―−]/g, '-')
    .replace(/…/g, '...')
const unescaped = (text: string) =>
  text.replace(/\\([nrt"'`\\])/g, (_, char) => ({ n: '\n', r: '\r', t: '\t' })[char as 'n'] ?? char)

/** Share of lines of a block that must agree when only its first and last line surely do. */
const BLOCK_LIKENESS = 0.7

/** From strict to loose; the first that finds anything decides. */
const READINGS: Reading[] = [
  { name: 'exact', find: (text, old, fresh) => exact(text, old, fresh) },
  { name: 'trailing space', find: byLines(line => line.trimEnd()) },
  { name: 'indentation', find: byLines(line => line.trim()) },
  { name: 'white space', find: byLines(collapse) },
  { name: 'punctuation', find: byLines(straighten) },
  {
    name: 'escapes',
    find: (text, old, fresh) =>
      unescaped(old) === old ? [] : exact(text, unescaped(old), unescaped(fresh)),
  },
  {
    name: 'blank edges',
    find: (text, old, fresh) => {
      const [core, rest] = [old, fresh].map(part => part.replace(/^\s*\n|\n\s*$/g, ''))
      return core === old ? [] : byLines(line => line.trim())(text, core ?? '', rest ?? '')
    },
  },
  { name: 'block', find: (text, old, fresh) => byAnchors(text, old, fresh) },
]

/** All places of the strictest reading that finds one. `old` must not be blank. */
export const findMatches = (
  text: string,
  old: string,
  fresh: string,
): { how: string; matches: Match[] } => {
  for (const { name, find } of READINGS) {
    const matches = find(text, old, fresh)
    if (matches.length > 0) return { how: name, matches }
  }
  return { how: 'none', matches: [] }
}

export const applyMatches = (text: string, matches: readonly Match[]): string => {
  let out = ''
  let at = 0
  for (const { start, end, replacement } of matches) {
    out += text.slice(at, start) + replacement
    at = end
  }
  return out + text.slice(at)
}

const exact = (text: string, old: string, fresh: string): Match[] => {
  const matches: Match[] = []
  for (let at = text.indexOf(old); at >= 0; at = text.indexOf(old, at + old.length))
    matches.push({ start: at, end: at + old.length, replacement: fresh })
  return matches
}

type Lines = { lines: string[]; starts: number[] }

const toLines = (text: string): Lines => {
  const lines = text.split('\n')
  const starts: number[] = []
  let at = 0
  for (const line of lines) {
    starts.push(at)
    at += line.length + 1
  }
  return { lines, starts }
}

/** Windows of whole lines that agree once `read` has been applied to both sides. */
function byLines(read: (line: string) => string): Reading['find'] {
  return (text, old, fresh) => {
    const wanted = old.replace(/\n$/, '').split('\n').map(read)
    if (wanted.every(line => line === '')) return []
    const file = toLines(text)
    const seen = file.lines.map(read)
    const matches: Match[] = []
    for (let at = 0; at + wanted.length <= seen.length; at++) {
      if (!wanted.every((line, offset) => seen[at + offset] === line)) continue
      matches.push(cut(file, at, wanted.length, old, fresh))
      at += wanted.length - 1
    }
    return matches
  }
}

/** First and last line agree, most of the lines between do, and the place is unique enough to dare it. */
const byAnchors = (text: string, old: string, fresh: string): Match[] => {
  const wanted = old.replace(/\n$/, '').split('\n').map(collapse)
  if (wanted.length < 4) return []
  const file = toLines(text)
  const seen = file.lines.map(collapse)
  const matches: Match[] = []
  for (let at = 0; at + wanted.length <= seen.length; at++) {
    if (seen[at] !== wanted[0] || seen[at + wanted.length - 1] !== wanted.at(-1)) continue
    const alike = wanted.filter((line, offset) => seen[at + offset] === line).length
    if (alike / wanted.length >= BLOCK_LIKENESS)
      matches.push(cut(file, at, wanted.length, old, fresh))
  }
  return matches
}

/** The lines' range, and the new text moved to the indentation that the file really has. */
const cut = (
  { lines, starts }: Lines,
  at: number,
  count: number,
  old: string,
  fresh: string,
): Match => {
  const last = at + count - 1
  const whole = old.endsWith('\n') && !fresh.endsWith('\n')
  const end = (starts[last] ?? 0) + (lines[last]?.length ?? 0)
  const text = old.endsWith('\n') && fresh.endsWith('\n') ? fresh.slice(0, -1) : fresh
  const offset = lines.slice(at, last + 1).findIndex(line => line.trim() !== '')
  const from = indentOf(old.split('\n')[Math.max(offset, 0)] ?? '')
  const to = indentOf(lines[at + Math.max(offset, 0)] ?? '')
  return {
    start: starts[at] ?? 0,
    end: whole ? Math.min(end + 1, (starts.at(-1) ?? 0) + (lines.at(-1)?.length ?? 0)) : end,
    replacement:
      from === to
        ? text
        : text
            .split('\n')
            .map(line => reindent(line, from, to))
            .join('\n'),
  }
}

const indentOf = (line: string) => /^[ \t]*/.exec(line)?.[0] ?? ''

const reindent = (line: string, from: string, to: string) =>
  line.trim() === '' ? line : line.startsWith(from) ? to + line.slice(from.length) : line
