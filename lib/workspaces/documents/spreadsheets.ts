/** Cells of Excel and OpenDocument spreadsheets: one line per row, with the row's number first and tabs between cells. */
import { oneLine } from '../../base/shorten.ts'
import type { Archive } from './archive.ts'
import { attributesOf, isIn, readOdfContent, readRequired, relationsOf } from './text-documents.ts'
import type { OnPart, Range } from './types.ts'
import { readXml } from './xml.ts'

/** Characters of one sheet; the rest is left out. */
const MAX_SHEET_CHARS = 5_000_000
const MAX_COLUMNS = 1_000
/** A repeated cell or row is written out at most this often. */
const MAX_REPEATS = 100

/** A, B, …, Z, AA, … */
const columnName = (at: number): string =>
  (at >= 26 ? columnName(Math.floor(at / 26) - 1) : '') + String.fromCharCode(65 + (at % 26))

const LEFT_OUT = `[… cells beyond column ${columnName(MAX_COLUMNS - 1)}, and repetitions beyond ${MAX_REPEATS}, are left out …]`

/** Ends reading in the middle of a sheet. */
const FULL = Symbol('full')

/** Collects rows; those without a value are dropped. */
class Rows {
  readonly #lines: string[] = []
  #chars = 0
  #width = 0
  #isPartial = false

  /** A cell or row is not written out. */
  leaveOut(): void {
    this.#isPartial = true
  }

  add(number: number, cells: readonly string[]): void {
    const last = cells.findLastIndex(cell => cell !== '')
    if (last < 0) return
    this.#width = Math.max(this.#width, last + 1)
    const line = [number, ...cells.slice(0, last + 1).map(oneLine)].join('\t')
    this.#lines.push(line)
    this.#chars += line.length
    if (this.#chars > MAX_SHEET_CHARS) throw FULL
  }

  text(isCut: boolean): string {
    const notes = [
      ...(this.#isPartial ? [LEFT_OUT] : []),
      ...(isCut ? ['[… the rest of this sheet is left out …]'] : []),
    ]
    if (this.#lines.length === 0) return notes[0] ?? '(empty)'
    const columns = Array.from({ length: this.#width }, (_, at) => columnName(at))
    return [['row', ...columns].join('\t'), ...this.#lines, ...notes].join('\n')
  }
}

/** `BC12` is in column 54. */
const columnOf = (reference: string): number =>
  [.../^[A-Z]*/.exec(reference)![0]].reduce(
    (sum, letter) => sum * 26 + letter.charCodeAt(0) - 64,
    0,
  ) - 1

const fill = (read: (rows: Rows) => void): string => {
  const rows = new Rows()
  try {
    read(rows)
  } catch (error) {
    if (error !== FULL) throw error
    return rows.text(true)
  }
  return rows.text(false)
}

// ── Excel (ECMA-376 part 1, chapter 18) ─────────────────────────────────────────────────────────────────────────────

export const readXlsx = async (archive: Archive, range: Range, onPart: OnPart): Promise<void> => {
  const main = 'xl/workbook.xml'
  const workbook = await readRequired(archive, main)
  const relations = await relationsOf(archive, main)
  const pathOf = (type: string) => [...relations.values()].find(one => one.type === type)?.target
  const strings = stringsOf((await archive.read(pathOf('sharedStrings') ?? '')) ?? '')
  const isDate = datesOf((await archive.read(pathOf('styles') ?? '')) ?? '')
  const is1904 = /^(?:1|true)$/.test(attributesOf(workbook, 'workbookPr')[0]?.date1904 ?? '')
  const sheets = attributesOf(workbook, 'sheet')
  for (const [at, { name = '', state = 'visible', 'r:id': id = '' }] of sheets.entries()) {
    if (!isIn(range, at + 1)) continue
    const xml = (await archive.read(relations.get(id)?.target ?? '')) ?? ''
    const text = fill(rows => readSheet(xml, rows, { strings, isDate, is1904 }))
    const hidden = state === 'visible' ? '' : ' (hidden)'
    onPart({ title: `sheet ${at + 1}: ${name}${hidden}`, text }, sheets.length)
  }
}

/** Shared strings; `rPh` is pronunciation. */
const stringsOf = (xml: string): string[] => {
  const strings: string[] = []
  let text: string | null = null
  let isText = false
  let isPronunciation = false
  readXml(xml, {
    open(name) {
      if (name === 'si') text = ''
      if (name === 'rPh') isPronunciation = true
      isText = name === 't' && !isPronunciation
    },
    text: value => {
      if (isText && text !== null) text += value
    },
    close(name) {
      isText = false
      if (name === 'rPh') isPronunciation = false
      if (name === 'si') {
        strings.push(text ?? '')
        text = null
      }
    },
  })
  return strings
}

const isDateCode = (code: string): boolean =>
  /[dmyhs]/i.test(code.replace(/"[^"]*"|\[[^\]]*\]|\\./g, ''))

/** Which cell styles show a number as a date. */
const datesOf = (xml: string): ((style: number) => boolean) => {
  const codes = new Map(
    attributesOf(xml, 'numFmt').map(({ numFmtId, formatCode = '' }) => [
      Number(numFmtId),
      formatCode,
    ]),
  )
  const formats: number[] = []
  let isCellFormat = false
  readXml(xml, {
    open(name, { numFmtId }) {
      if (name === 'cellXfs') isCellFormat = true
      if (name === 'xf' && isCellFormat) formats.push(Number(numFmtId ?? 0))
    },
    close: name => {
      if (name === 'cellXfs') isCellFormat = false
    },
  })
  return style => {
    const id = formats[style] ?? 0
    const code = codes.get(id)
    return code === undefined
      ? (id >= 14 && id <= 22) || (id >= 27 && id <= 36) || (id >= 45 && id <= 58)
      : isDateCode(code)
  }
}

const DAY_MS = 86_400_000

/** Days since 1899-12-30 or 1904-01-01 as a date; with the time where there is one. */
const dateOf = (value: number, is1904: boolean): string => {
  const start = is1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, 30)
  const time = start + Math.round(value * 86_400) * 1000
  if (!(Math.abs(time) < 8.64e15)) return String(value)
  const text = new Date(time).toISOString().slice(0, 19).replace('T', ' ')
  if (value < 1) return text.slice(11)
  return time % DAY_MS === 0 ? text.slice(0, 10) : text
}

type Book = { strings: string[]; isDate: (style: number) => boolean; is1904: boolean }

const readSheet = (xml: string, rows: Rows, { strings, isDate, is1904 }: Book): void => {
  let [row, column] = [0, -1]
  let cells: string[] = []
  let [type, style, value] = ['n', 0, '']
  let isValue = false
  readXml(xml, {
    open(name, { r, t, s }) {
      isValue = name === 'v' || name === 't'
      if (name === 'row') {
        ;[row, column, cells] = [Number(r) || row + 1, -1, []]
      } else if (name === 'c') {
        column = r === undefined ? column + 1 : columnOf(r)
        ;[type, style, value] = [t ?? 'n', Number(s) || 0, '']
      }
    },
    text: text => {
      if (isValue) value += text
    },
    close(name) {
      isValue = false
      if (name === 'row')
        rows.add(
          row,
          Array.from(cells, cell => cell ?? ''),
        )
      if (name !== 'c' || value === '') return
      if (column >= MAX_COLUMNS) {
        rows.leaveOut()
        return
      }
      const isNumber = type === 'n' && Number.isFinite(Number(value))
      if (type === 's') value = strings[Number(value)] ?? ''
      else if (type === 'b') value = value === '1' ? 'TRUE' : 'FALSE'
      else if (isNumber && isDate(style)) value = dateOf(Number(value), is1904)
      cells[column] = value
    },
  })
}

// ── OpenDocument ────────────────────────────────────────────────────────────────────────────────────────────────────

export const readOds = async (archive: Archive, range: Range, onPart: OnPart): Promise<void> => {
  const sheets = (await readOdfContent(archive)).split(/(?=<table:table[ >])/).slice(1)
  for (const [at, xml] of sheets.entries()) {
    if (!isIn(range, at + 1)) continue
    const { 'table:name': name = '' } = attributesOf(xml, 'table')[0] ?? {}
    onPart(
      { title: `sheet ${at + 1}: ${name}`, text: fill(rows => readTable(xml, rows)) },
      sheets.length,
    )
  }
}

const readTable = (xml: string, rows: Rows): void => {
  let row = 0
  let [repeatRow, repeatCell] = [1, 1]
  let cells: string[] = []
  let value = ''
  let inCell = 0
  let inNote = 0
  readXml(xml, {
    open(name, attributes) {
      if (name === 'table-row') {
        repeatRow = Number(attributes['table:number-rows-repeated']) || 1
        cells = []
      } else if (name === 'table-cell' || name === 'covered-table-cell') {
        repeatCell = Number(attributes['table:number-columns-repeated']) || 1
        value = ''
        inCell++
      } else if (name === 'annotation') inNote++
      else if (name === 'p' && value !== '') value += ' '
    },
    text: text => {
      if (inCell > 0 && inNote === 0) value += text
    },
    close(name) {
      if (name === 'annotation') inNote--
      if (name === 'table-cell' || name === 'covered-table-cell') {
        inCell--
        const text = oneLine(value)
        const free = MAX_COLUMNS - cells.length
        const most = text === '' ? free : Math.min(free, MAX_REPEATS)
        if (text !== '' && repeatCell > most) rows.leaveOut()
        for (let n = 0; n < Math.min(repeatCell, most); n++) cells.push(text)
      }
      if (name === 'table-row') {
        for (let n = 0; n < Math.min(repeatRow, MAX_REPEATS); n++) rows.add(row + n + 1, cells)
        if (repeatRow > MAX_REPEATS && cells.some(cell => cell !== '')) rows.leaveOut()
        row += repeatRow
      }
    },
  })
}
