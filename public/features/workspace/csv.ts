/** A CSV parser (RFC 4180) that detects the separator from the first line. */

const SEPARATORS = [',', ';', '\t', '|'] as const

/** The separator that occurs most often in the first line, outside of quotes. */
export const separatorOf = (text: string): string => {
  const [head = ''] = text
    .slice(0, 20_000)
    .replace(/"[^"]*"/g, '')
    .split(/\r?\n/, 1)
  const counts = SEPARATORS.map(separator => head.split(separator).length)
  return SEPARATORS[counts.indexOf(Math.max(...counts))]!
}

export const parseCsv = (text: string, separator = separatorOf(text)): string[][] => {
  const rows: string[][] = []
  let row: string[] = []
  let field = ''
  let quoted = false
  const endField = () => {
    row.push(field)
    field = ''
  }
  const endRow = () => {
    endField()
    rows.push(row)
    row = []
  }
  for (let at = text.charCodeAt(0) === 0xfeff ? 1 : 0; at < text.length; at += 1) {
    const letter = text[at]!
    if (quoted) {
      if (letter !== '"') field += letter
      else if (text[at + 1] === '"') {
        field += '"'
        at += 1
      } else quoted = false
    } else if (letter === '"' && field === '') quoted = true
    else if (letter === separator) endField()
    else if (letter === '\n') endRow()
    else if (letter === '\r' && text[at + 1] === '\n') continue
    else field += letter
  }
  if (field !== '' || row.length > 0) endRow()
  return rows
}
