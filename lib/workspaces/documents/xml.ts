/** Reads XML: paragraphs, headings, lists, and tables as lines of text. Entities of a DTD are never expanded. */
import { Parser } from 'htmlparser2'

export type Attributes = Readonly<Record<string, string>>

export type Handlers = {
  open?: (name: string, attributes: Attributes) => void
  text?: (text: string) => void
  close?: (name: string) => void
}

/** Names come without their namespace prefix, attributes with it. */
export const readXml = (xml: string, { open, text, close }: Handlers): void => {
  const local = (name: string) => name.slice(name.indexOf(':') + 1)
  const parser = new Parser(
    {
      onopentag: (name, attributes) => open?.(local(name), attributes),
      ontext: value => text?.(value),
      onclosetag: name => close?.(local(name)),
    },
    { xmlMode: true },
  )
  parser.end(xml)
}

/** Decodes by the byte order mark; UTF-8 without one. */
export const decodeXml = (bytes: Buffer): string => {
  const isWide =
    (bytes[0] === 0xff && bytes[1] === 0xfe) || (bytes[0] === 0xfe && bytes[1] === 0xff)
  const encoding = isWide ? (bytes[0] === 0xff ? 'utf-16le' : 'utf-16be') : 'utf-8'
  return new TextDecoder(encoding).decode(bytes)
}

type Names = ReadonlySet<string>
export const names = (list: string): Names => new Set(list.split(' '))

/** What the elements of a format mean. */
export type Layout = {
  /** Elements whose own text counts; absent: all text. */
  text?: Names
  skip: Names
  paragraph: Names
  row: Names
  cell: Names
  /** What an element inserts into the line, for example a tab; `\n` ends the line. */
  insert: (name: string, attributes: Attributes) => string | undefined
  /** What an element puts before its paragraph, for example `# `. */
  prefix: (name: string, attributes: Attributes) => string | undefined
}

/** The lines of a document, with ` | ` between the cells of a table row. */
export const readLines = (xml: string, layout: Layout): string[] => {
  const lines: string[] = []
  /** Open rows with the text of their cells, and the first line of each open cell; tables can be nested. */
  const rows: string[][] = []
  const cells: number[] = []
  let line = ''
  let prefix = ''
  let skipped = 0
  let inText = layout.text ? 0 : 1
  const endLine = (): void => {
    const text = line.trim()
    line = ''
    if (text === '') return
    lines.push(prefix + text)
    prefix = ''
  }
  readXml(xml, {
    open(name, attributes) {
      if (skipped > 0 || layout.skip.has(name)) {
        skipped++
        return
      }
      if (layout.text?.has(name)) inText++
      if (layout.paragraph.has(name) || layout.row.has(name) || layout.cell.has(name)) endLine()
      if (layout.row.has(name)) rows.push([])
      if (layout.cell.has(name)) cells.push(lines.length)
      prefix = layout.prefix(name, attributes) ?? prefix
      const inserted = layout.insert(name, attributes)
      if (inserted === '\n') endLine()
      else line += inserted ?? ''
    },
    text(text) {
      if (skipped === 0 && inText > 0) line += layout.text ? text : text.replace(/\s+/g, ' ')
    },
    close(name) {
      if (skipped > 0) {
        skipped--
        return
      }
      if (layout.text?.has(name)) inText--
      if (layout.paragraph.has(name) || layout.cell.has(name)) {
        endLine()
        prefix = ''
      }
      if (layout.cell.has(name)) rows.at(-1)?.push(lines.splice(cells.pop() ?? 0).join(' '))
      if (layout.row.has(name)) lines.push((rows.pop() ?? []).join(' | '))
    },
  })
  endLine()
  return lines
}
