/** Completes the open end of streamed Markdown, so that partial syntax doesn't flicker. */

const tableRow = /^ {0,3}\|/
const delimiter = /^[\s|:-]*$/
/** A line that may still change its meaning: a marker alone, or the underline of a heading. */
const markerOnly =
  /(^|\n)[ \t]*(?:[-*+=_]{1,3}|\d{1,9}[.)]?|#{1,6}|>+|[-*+] \[[ xX]?\]?|`{1,2}|\||\$\$?|:)[ \t]*$/

/** The text of the open block as it should be rendered now. */
export const completePartial = (text: string): string => {
  const fence = /^ {0,3}(`{3,}|~{3,})/.test(text)
  if (fence) return text
  const lines = text.split('\n')
  if (tableRow.test(lines[0]!)) return completeTable(lines)
  return completeInline(text.replace(markerOnly, '$1'))
}

const cells = (row: string): number =>
  Math.max(
    1,
    row
      .trim()
      .replace(/^\||\|$/g, '')
      .split(/(?<!\\)\|/).length,
  )

/** A header without its delimiter row becomes a table; the lexer pads an incomplete row. */
const completeTable = (lines: string[]): string => {
  const head = lines[0]!
  const second = lines[1]
  if (second !== undefined && (!delimiter.test(second) || lines.length > 2)) return lines.join('\n')
  if (second?.includes('-') && cells(second) === cells(head) && /-[|\s:]*$/.test(second)) {
    return lines.join('\n')
  }
  return `${head.trimEnd()}\n|${' - |'.repeat(cells(head))}`
}

/** Closes open emphasis and code, and hides the URL of an incomplete link. */
const completeInline = (text: string): string => {
  const from = text.lastIndexOf('\n\n') + 1
  const tail = text.slice(from)
  const cut = tail
    .replace(/!\[[^\]\n]*(?:\]\([^)\n]*)?$/, '')
    .replace(/(^|[^!])\[([^\]\n]*)\]\([^)\n]*$/, '$1$2')
    .replace(/(^|[^!\\])\[([^\]\n]*)$/, '$1$2')
    .replace(/<\/?[a-zA-Z][^>\n]*$/, '')
    .replace(/(^|[^\\])[*_~`$\\]+$/, (whole, before: string) =>
      closes(tail, whole.slice(before.length)) ? whole : before,
    )
  return text.slice(0, from) + cut + closers(cut)
}

/** Whether the marks at the end close an open one. */
const closes = (tail: string, run: string): boolean =>
  closers(tail.slice(0, -run.length)).trim() === run

/** The marks that are open at the end of `text`, innermost first. */
const closers = (text: string): string => {
  const open: string[] = []
  const marks = /\\[\s\S]|(`+)|(\*\*\*|\*\*|\*|~~|(?<![\p{L}\p{N}])__?|__?(?![\p{L}\p{N}]))/gu
  let code = ''
  for (const { 0: mark, 1: ticks, index } of text.matchAll(marks)) {
    if (ticks) {
      if (!code) code = ticks
      else if (code === ticks) code = ''
      continue
    }
    if (code || mark.startsWith('\\')) continue
    if (open.at(-1) === mark) open.pop()
    else if (/\S/.test(text[index + mark.length] ?? ' ') && opens(text, index)) open.push(mark)
  }
  return code || open.reverse().join('')
}

/** A list's `*` is a marker, not emphasis. */
const opens = (text: string, index: number): boolean =>
  !/(^|\n)[ \t]*$/.test(text.slice(0, index)) || !/\s/.test(text[index + 1] ?? '')
