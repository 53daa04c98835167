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
type ScreenRow = {
  text: string
  cells: Cell[] | null
  /** Until something else is written there, the text that was erased says more than an empty line. */
  isErased?: true
}

const blank = (): ScreenRow => ({ text: '', cells: null })

const visibleText = (text: string): string => stripVTControlCharacters(text).replace(/\r$/, '')

const widthOf = ({ text, cells, isErased }: ScreenRow): number =>
  isErased ? 0 : (cells?.length ?? visibleText(text).length)

/** Programs that never reset add codes for ever. */
const MAX_CODES = 8

const styleAfter = (style: string, code: string): string => {
  if (/^\x1b\[[0;:]*m$/.test(code)) return ''
  const codes = `${style}${code}`.split(/(?=\x1b)/)
  return codes.slice(-MAX_CODES).join('')
}

const toCells = ({ text, cells }: ScreenRow): Cell[] => {
  if (cells) return cells
  let style = ''
  return text.split(COLOR).flatMap((part, at) => {
    if (at % 2 === 0) return [...visibleText(part)].map(char => ({ char, style }))
    style = styleAfter(style, part)
    return []
  })
}

const toText = ({ text, cells }: ScreenRow): string => {
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
export class TerminalScreen {
  readonly #emit: (text: string) => void
  #rows: ScreenRow[] = [blank()]
  #row = 0
  /** Null: behind the last character of the row. */
  #column: number | null = null
  #style = ''
  #rest = ''
  /** A part of the line was emitted already. */
  #isOpen = false
  /** The screen was erased, so that it may be erased again without a loss. */
  #isErased = false

  constructor(emit: (text: string) => void) {
    this.#emit = emit
  }

  #current(): ScreenRow {
    return this.#rows[this.#row] ?? blank()
  }

  #settle(count: number): void {
    if (count <= 0) return
    this.#emit(
      this.#rows
        .slice(0, count)
        .map(one => `${toText(one)}\n`)
        .join(''),
    )
    this.#isOpen = false
    this.#rows = this.#rows.slice(count)
    this.#row = Math.max(0, this.#row - count)
  }

  flush(): void {
    const text = this.#rows.map(toText).join('\n')
    if (text !== '') this.#emit(text)
    this.#isOpen ||= text !== '' && !text.endsWith('\n')
    this.#rows = [blank()]
    this.#row = 0
    this.#column = null
  }

  #put(text: string): void {
    if (this.#current().isErased) this.#rows[this.#row] = blank()
    const one = this.#current()
    const width = this.#column === null ? 0 : widthOf(one)
    if (this.#column !== null && this.#column >= width) {
      const gap = ' '.repeat(this.#column - width)
      this.#column = null
      // The codes since the last character are not part of the line yet.
      if (!one.cells) one.text += this.#style === '' && COLOR.test(one.text) ? RESET : this.#style
      if (gap !== '') this.#put(gap)
    }
    if (this.#column === null) {
      if (one.cells) one.cells.push(...[...text].map(char => ({ char, style: this.#style })))
      else one.text += text
      return
    }
    if (this.#column === 0 && text.length >= width) {
      this.#rows[this.#row] = { text: this.#style + text, cells: null }
      this.#column = null
      return
    }
    one.cells = toCells(one)
    for (const char of text) one.cells[this.#column++] = { char, style: this.#style }
    if (this.#column >= one.cells.length) this.#column = null
  }

  #eraseLine(mode: number): void {
    const one = this.#current()
    const at = this.#column ?? widthOf(one)
    this.#column = at
    if (mode === 2 || (mode === 0 && at === 0)) one.isErased = true
    else if (mode === 1)
      one.cells = toCells(one).map((cell, n) => (n <= at ? { char: ' ', style: '' } : cell))
    else one.cells = toCells(one).slice(0, at)
  }

  /** What was there before the first time stays; after that, only the last picture does. */
  #eraseScreen(): void {
    if (!this.#isErased) this.flush()
    if (this.#isOpen) this.#emit('\n')
    this.#isOpen = false
    this.#isErased = true
    this.#rows = [blank()]
    this.#row = 0
    this.#column = null
  }

  #moveTo(to: number, at: number | null = this.#column ?? widthOf(this.#current())): void {
    this.#row = Math.max(0, to)
    while (this.#rows.length <= this.#row) this.#rows.push(blank())
    this.#column = at
    this.#settle(this.#rows.length - ROWS)
  }

  #control(letter: string, parameters: string): void {
    const [first = NaN] = parameters.split(';').map(Number.parseFloat)
    const count = Math.min(Math.max(1, first || 1), ROWS)
    const at = this.#column ?? widthOf(this.#current())
    if (letter === 'A') this.#moveTo(this.#row - count)
    else if (letter === 'B') this.#moveTo(this.#row + count)
    else if (letter === 'C') this.#column = at + count
    else if (letter === 'D') this.#column = Math.max(0, at - count)
    else if (letter === 'E') this.#moveTo(this.#row + count, 0)
    else if (letter === 'F') this.#moveTo(this.#row - count, 0)
    else if (letter === 'G') this.#column = Math.max(0, (first || 1) - 1)
    else if (letter === 'K') this.#eraseLine(first || 0)
    else if (letter === 'J' && first >= 2) this.#eraseScreen()
    else if (letter === 'J') {
      this.#eraseLine(0)
      this.#rows.length = this.#row + 1
    } else if (this.#isErased) this.#moveTo((first || 1) - 1, 0)
    else this.#eraseScreen()
  }

  #apply(token: string): void {
    const [, parameters, letter] = /^\x1b\[([0-9;?]*)([A-HJKfm])$/.exec(token) ?? []
    if (this.#isOpen && (token === '\r' || (letter !== undefined && letter !== 'm'))) {
      this.#emit('\n')
      this.#isOpen = false
    }
    if (token === '\n') this.#moveTo(this.#row + 1, 0)
    else if (token === '\r') this.#column = 0
    else if (token === '\x08')
      this.#column = Math.max(0, (this.#column ?? widthOf(this.#current())) - 1)
    else if (token === '\x1bc') this.#eraseScreen()
    else if (letter === 'm') {
      this.#style = styleAfter(this.#style, token)
      if (this.#column === null && !this.#current().cells && !this.#current().isErased)
        this.#current().text += token
    } else if (letter !== undefined) this.#control(letter === 'f' ? 'H' : letter, parameters ?? '')
    else if (!token.startsWith('\x1b')) this.#put(token)
  }

  /** Text that only adds to the end. */
  #append(text: string): void {
    for (const [code] of text.matchAll(COLORS)) this.#style = styleAfter(this.#style, code)
    const lines = text.split('\n')
    const last = this.#current()
    if (last.cells)
      last.cells.push(
        ...[...visibleText(lines[0] ?? '')].map(char => ({ char, style: this.#style })),
      )
    else last.text += lines[0] ?? ''
    for (const line of lines.slice(1)) this.#rows.push({ text: line, cells: null })
    this.#row = this.#rows.length - 1
    this.#column = null
    this.#settle(this.#rows.length - ROWS)
  }

  write(chunk: string): void {
    const text = this.#rest + chunk
    this.#rest = UNFINISHED.exec(text)?.[0] ?? ''
    const whole = this.#rest === '' ? text : text.slice(0, -this.#rest.length)
    const isAtEnd =
      this.#row === this.#rows.length - 1 &&
      !this.#current().isErased &&
      (this.#column === null || this.#column >= widthOf(this.#current()))
    if (isAtEnd && this.#column !== null) this.#put('')
    if (isAtEnd && !MOVES.test(whole)) this.#append(whole)
    else for (const [token] of whole.matchAll(TOKEN)) this.#apply(token)
    if (this.#current().text.length > MAX_ROW_CHARS) this.flush()
  }
}
