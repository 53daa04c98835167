/** Maps the indentation of a model's quotation to the file's: one shift for all lines, or none. */

/** Indents a new line like the file. Throws where that would be a guess. */
export type Reindent = (line: string) => string

export const indentOf = (line: string): string => /^[ \t]*/.exec(line)?.[0] ?? ''

const unclear = () =>
  new Error(
    'The text stands there with another indentation than quoted, and how the new lines are to be indented is not clear. Quote the lines and write the new ones with the exact tabs and spaces of the file.',
  )

/** The shift from the quoted indentation to the file's; null if no single shift fits. */
export const indentShift = (
  quoted: readonly string[],
  window: readonly string[],
  file: readonly string[],
): Reindent | null => {
  const pairs = new Map<string, string>()
  for (const [at, line] of quoted.entries()) {
    if (line.trim() === '') continue
    const [from, to] = [indentOf(line), indentOf(window[at] ?? '')]
    if ((pairs.get(from) ?? to) !== to) return null
    pairs.set(from, to)
  }
  const move = added(pairs) ?? dropped(pairs) ?? converted(pairs)
  if (!move) return null
  const used = [...pairs.values()].join('') || file.map(indentOf).join('')
  return line => {
    if (line.trim() === '') return ''
    const from = indentOf(line)
    const to = pairs.get(from) ?? move(from)
    // Never mixes tabs and spaces where the file doesn't.
    if (used !== '' && [...to].some(sign => !used.includes(sign))) throw unclear()
    return to + line.slice(from.length)
  }
}

type Move = (indent: string) => string
type IndentPairs = ReadonlyMap<string, string>

/** Every line is indented further, by the same text. */
const added = (pairs: IndentPairs): Move | null => {
  const [[from, to] = ['', '']] = pairs
  const more = to.slice(0, to.length - from.length)
  return [...pairs].every(([a, b]) => b === more + a) ? indent => more + indent : null
}

/** Every line is indented less, by the same text. */
const dropped = (pairs: IndentPairs): Move | null => {
  const [[from, to] = ['', '']] = pairs
  const less = from.slice(0, from.length - to.length)
  if (![...pairs].every(([a, b]) => a === less + b)) return null
  return indent => {
    if (!indent.startsWith(less)) throw unclear()
    return indent.slice(less.length)
  }
}

/** Spaces in the quotation are tabs in the file or vice versa, with one ratio everywhere. */
const converted = (pairs: IndentPairs): Move | null => {
  const deep = [...pairs].filter(([from, to]) => from !== '' || to !== '')
  const isTabs = deep.every(([from, to]) => /^ +$/.test(from) && /^\t+$/.test(to))
  if (!isTabs && !deep.every(([from, to]) => /^\t+$/.test(from) && /^ +$/.test(to))) return null
  const ratios = new Set(deep.map(([from, to]) => to.length / from.length))
  const [ratio = 0] = ratios
  if (ratios.size > 1) return null
  return indent => {
    const length = indent.length * ratio
    if (!(isTabs ? /^ *$/ : /^\t*$/).test(indent) || !Number.isInteger(length)) throw unclear()
    return (isTabs ? '\t' : ' ').repeat(length)
  }
}
