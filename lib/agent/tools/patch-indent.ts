/** Maps the indentation of a model's quotation to the file's: one shift for all lines, or none. */

/** Indents a new line like the file. Throws where that would be a guess. */
export type Reindent = (line: string) => string

export const indentOf = (line: string): string => /^[ \t]*/.exec(line)?.[0] ?? ''

const UNITS = new Set([2, 3, 4, 8])

const unclear = () =>
  new Error(
    'The text stands there with another indentation than quoted, and how the new lines are to be indented is not clear. Quote the lines and write the new ones with the exact tabs and spaces of the file.',
  )

const isBlank = (line: string): boolean => line.trim() === ''
const isSpaces = (text: string): boolean => /^ *$/.test(text)
const isTabs = (text: string): boolean => /^\t*$/.test(text)

/** The shift from the quoted indentation to the file's; null if no single shift fits. */
export const shiftOf = (
  quoted: readonly string[],
  found: readonly string[],
  fresh: readonly string[],
  file: readonly string[],
): Reindent | null => {
  const known = new Map<string, string>()
  for (const [at, line] of quoted.entries()) {
    if (isBlank(line)) continue
    const [from, to] = [indentOf(line), indentOf(found[at] ?? '')]
    if ((known.get(from) ?? to) !== to) return null
    known.set(from, to)
  }
  const move = added(known) ?? dropped(known) ?? converted(known)
  if (!move) return null
  const step = stepOf(fresh)
  const style = [...known.values()].join('') || styleOf(file)
  return line => {
    if (isBlank(line)) return line.endsWith('\n') ? '\n' : ''
    const from = indentOf(line)
    const to = known.get(from) ?? inStyle(move(from), style, step)
    return to + line.slice(from.length)
  }
}

type Move = (indent: string) => string

/** The indentation character of a file; empty if there is none or both are used. */
const styleOf = (file: readonly string[]): string => {
  const [tabs, spaces] = ['\t', ' '].map(sign => file.some(line => line.startsWith(sign)))
  return tabs === spaces ? '' : tabs ? '\t' : ' '
}

/** Every line is indented further, by the same text. */
const added = (known: ReadonlyMap<string, string>): Move | null => {
  const [[from, to] = ['', '']] = known
  if (!to.endsWith(from)) return null
  const more = to.slice(0, to.length - from.length)
  return [...known].every(([a, b]) => b === more + a) ? indent => more + indent : null
}

/** Every line is indented less, by the same text. */
const dropped = (known: ReadonlyMap<string, string>): Move | null => {
  const [[from, to] = ['', '']] = known
  if (!from.endsWith(to)) return null
  const less = from.slice(0, from.length - to.length)
  if (![...known].every(([a, b]) => a === less + b)) return null
  return indent => {
    if (!indent.startsWith(less)) throw unclear()
    return indent.slice(less.length)
  }
}

/** Spaces in the quotation are tabs in the file or vice versa, with one ratio everywhere. */
const converted = (known: ReadonlyMap<string, string>): Move | null => {
  const deep = [...known].filter(([from, to]) => from !== '' || to !== '')
  if (deep.some(([from, to]) => from === '' || to === '')) return null
  if (deep.every(([from, to]) => isSpaces(from) && isTabs(to))) {
    const width = widthOf(deep.map(([from, to]) => [from.length, to.length]))
    if (width === null) return null
    return indent => {
      if (!isSpaces(indent) || indent.length % width !== 0) throw unclear()
      return '\t'.repeat(indent.length / width)
    }
  }
  if (!deep.every(([from, to]) => isTabs(from) && isSpaces(to))) return null
  const width = widthOf(deep.map(([from, to]) => [to.length, from.length]))
  if (width === null) return null
  return indent => {
    if (!isTabs(indent)) throw unclear()
    return ' '.repeat(indent.length * width)
  }
}

const widthOf = (pairs: readonly (readonly [number, number])[]): number | null => {
  const [[spaces, tabs] = [0, 1]] = pairs
  const width = spaces / tabs
  return Number.isInteger(width) && pairs.every(([a, b]) => a === b * width) ? width : null
}

/** Spaces per indentation level of the new lines; null if unknown. */
const stepOf = (fresh: readonly string[]): number | null => {
  const depths = fresh.filter(line => !isBlank(line)).map(line => indentOf(line).length)
  const step = depths.reduce((a, b) => gcd(a, b), 0)
  return UNITS.has(step) ? step : null
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b))

/** Never mixes tabs and spaces where the file doesn't. */
const inStyle = (indent: string, style: string, step: number | null): string => {
  const isMixed = indent.includes('\t') && indent.includes(' ')
  const isStrange =
    (indent.includes('\t') && !style.includes('\t') && style !== '') ||
    (indent.includes(' ') && !style.includes(' ') && style !== '')
  if (!isMixed && !isStrange) return indent
  if (style.includes('\t') && style.includes(' ')) return indent
  const spaces = indent.replaceAll('\t', '').length
  if (!style.includes('\t') || step === null || spaces % step !== 0) throw unclear()
  return indent.replaceAll(' ', '') + '\t'.repeat(spaces / step)
}
