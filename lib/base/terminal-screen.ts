/**
 * What a terminal shows of a program's output: lines that are written again and again (progress bars) are kept as they were
 * last. Output without such lines passes unchanged, and colors are kept.
 */
import { stripVTControlCharacters } from 'node:util'

/** Lines that may still be changed; those above have left the screen. */
const ROWS = 100
/** A line without an end is let go at this length. */
const MAX_ROW_CHARS = 10_000

/** What moves the cursor or erases. */
const MOVES = /\r(?!\n)|\x08|\x1b\[[0-9;?]*[A-HJKf]|\x1bc/
const TOKEN =
  /\x1b\[[0-9;:<=>?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[0-Z\\-~]|\r|\n|\x08|[^\x1b\r\n\x08]+|\x1b/g
const UNFINISHED = /(?:\r|\x1b(?:\[[0-9;:<=>? -/]*|\][^\x07\x1b]{0,1000}\x1b?)?)$/
const RESET = '\x1b[0m'
const COLOR = /(\x1b\[[0-9;:]*m)/
const COLORS = new RegExp(COLOR, 'g')

/** A character and the color codes in force. */
type Cell = { char: string; style: string }
/** `cells`: of a line that was partly written again; else `text` is as it was printed. */
type Row = {
  text: string
  cells: Cell[] | null
  /** Until something else is written there, the text that was erased says more than an empty line. */
  isErased?: true
}

const blank = (): Row => ({ text: '', cells: null })

const shown = (text: string): string => stripVTControlCharacters(text).replace(/\r$/, '')

const widthOf = ({ text, cells, isErased }: Row): number =>
  isErased ? 0 : (cells?.length ?? shown(text).length)

/** Programs that never reset add codes for ever. */
const MAX_CODES = 8

const styleAfter = (style: string, code: string): string => {
  if (/^\x1b\[[0;:]*m$/.test(code)) return ''
  const codes = `${style}${code}`.split(/(?=\x1b)/)
  return codes.slice(-MAX_CODES).join('')
}

const toCells = ({ text, cells }: Row): Cell[] => {
  if (cells) return cells
  let style = ''
  return text.split(COLOR).flatMap((part, at) => {
    if (at % 2 === 0) return [...shown(part)].map(char => ({ char, style }))
    style = styleAfter(style, part)
    return []
  })
}

const toText = ({ text, cells }: Row): string => {
  if (!cells) return text
  let style = ''
  const parts = cells.map(cell => {
    const change = cell.style === style ? '' : `${style === '' ? '' : RESET}${cell.style}`
    style = cell.style
    return change + cell.char
  })
  return `${parts.join('').trimEnd()}${style === '' ? '' : RESET}`
}

/** `emit` gets text that does not change any more. */
export const createTerminalScreen = (emit: (text: string) => void) => {
  let rows: Row[] = [blank()]
  let row = 0
  /** Null: behind the last character of the row. */
  let column: number | null = null
  let style = ''
  let rest = ''
  /** A part of the line was emitted already. */
  let isOpen = false
  /** The screen was erased, so that it may be erased again without a loss. */
  let isErased = false

  const current = (): Row => rows[row] ?? blank()

  const settle = (count: number): void => {
    if (count <= 0) return
    emit(
      rows
        .slice(0, count)
        .map(one => `${toText(one)}\n`)
        .join(''),
    )
    isOpen = false
    rows = rows.slice(count)
    row = Math.max(0, row - count)
  }

  const settleAll = (): void => {
    const text = rows.map(toText).join('\n')
    if (text !== '') emit(text)
    isOpen ||= text !== '' && !text.endsWith('\n')
    rows = [blank()]
    row = 0
    column = null
  }

  const put = (text: string): void => {
    if (current().isErased) rows[row] = blank()
    const one = current()
    const width = column === null ? 0 : widthOf(one)
    if (column !== null && column >= width) {
      const gap = ' '.repeat(column - width)
      column = null
      // The codes since the last character are not part of the line yet.
      if (!one.cells) one.text += style === '' && COLOR.test(one.text) ? RESET : style
      if (gap !== '') put(gap)
    }
    if (column === null) {
      if (one.cells) one.cells.push(...[...text].map(char => ({ char, style })))
      else one.text += text
      return
    }
    if (column === 0 && text.length >= width) {
      rows[row] = { text: style + text, cells: null }
      column = null
      return
    }
    one.cells = toCells(one)
    for (const char of text) one.cells[column++] = { char, style }
    if (column >= one.cells.length) column = null
  }

  const eraseLine = (mode: number): void => {
    const one = current()
    const at = column ?? widthOf(one)
    column = at
    if (mode === 2 || (mode === 0 && at === 0)) one.isErased = true
    else if (mode === 1)
      one.cells = toCells(one).map((cell, n) => (n <= at ? { char: ' ', style: '' } : cell))
    else one.cells = toCells(one).slice(0, at)
  }

  /** What was there before the first time stays; after that, only the last picture does. */
  const eraseScreen = (): void => {
    if (!isErased) settleAll()
    if (isOpen) emit('\n')
    isOpen = false
    isErased = true
    rows = [blank()]
    row = 0
    column = null
  }

  const moveTo = (to: number, at: number | null = column ?? widthOf(current())): void => {
    row = Math.max(0, to)
    while (rows.length <= row) rows.push(blank())
    column = at
    settle(rows.length - ROWS)
  }

  const control = (letter: string, given: string): void => {
    const [first = NaN] = given.split(';').map(Number.parseFloat)
    const count = Math.min(Math.max(1, first || 1), ROWS)
    const at = column ?? widthOf(current())
    if (letter === 'A') moveTo(row - count)
    else if (letter === 'B') moveTo(row + count)
    else if (letter === 'C') column = at + count
    else if (letter === 'D') column = Math.max(0, at - count)
    else if (letter === 'E') moveTo(row + count, 0)
    else if (letter === 'F') moveTo(row - count, 0)
    else if (letter === 'G') column = Math.max(0, (first || 1) - 1)
    else if (letter === 'K') eraseLine(first || 0)
    else if (letter === 'J' && first >= 2) eraseScreen()
    else if (letter === 'J') {
      eraseLine(0)
      rows.length = row + 1
    } else if (isErased) moveTo((first || 1) - 1, 0)
    else eraseScreen()
  }

  const apply = (token: string): void => {
    const [, given, letter] = /^\x1b\[([0-9;?]*)([A-HJKfm])$/.exec(token) ?? []
    if (isOpen && (token === '\r' || (letter !== undefined && letter !== 'm'))) {
      emit('\n')
      isOpen = false
    }
    if (token === '\n') moveTo(row + 1, 0)
    else if (token === '\r') column = 0
    else if (token === '\x08') column = Math.max(0, (column ?? widthOf(current())) - 1)
    else if (token === '\x1bc') eraseScreen()
    else if (letter === 'm') {
      style = styleAfter(style, token)
      if (column === null && !current().cells && !current().isErased) current().text += token
    } else if (letter !== undefined) control(letter === 'f' ? 'H' : letter, given ?? '')
    else if (!token.startsWith('\x1b')) put(token)
  }

  /** Text that only adds to the end. */
  const append = (text: string): void => {
    for (const [code] of text.matchAll(COLORS)) style = styleAfter(style, code)
    const lines = text.split('\n')
    const last = current()
    if (last.cells) last.cells.push(...[...shown(lines[0] ?? '')].map(char => ({ char, style })))
    else last.text += lines[0] ?? ''
    for (const line of lines.slice(1)) rows.push({ text: line, cells: null })
    row = rows.length - 1
    column = null
    settle(rows.length - ROWS)
  }

  return {
    write(chunk: string): void {
      const text = rest + chunk
      rest = UNFINISHED.exec(text)?.[0] ?? ''
      const whole = rest === '' ? text : text.slice(0, -rest.length)
      const isAtEnd =
        row === rows.length - 1 &&
        !current().isErased &&
        (column === null || column >= widthOf(current()))
      if (isAtEnd && column !== null) put('')
      if (isAtEnd && !MOVES.test(whole)) append(whole)
      else for (const [token] of whole.matchAll(TOKEN)) apply(token)
      if (current().text.length > MAX_ROW_CHARS) settleAll()
    },
    /** Emits all that there is, for someone who reads it now. */
    flush: settleAll,
  }
}
