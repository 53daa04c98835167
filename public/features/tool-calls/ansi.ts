/** Parses terminal output into styled pieces: SGR sequences and bare \r are applied, other control sequences removed. */

export type Style = {
  /** 0–15 are colors of the theme (classes), others are `#rrggbb`. */
  color?: number | string
  background?: number | string
  bold?: boolean
  dim?: boolean
  italic?: boolean
  underline?: boolean
  strike?: boolean
  inverse?: boolean
}
export type Piece = { text: string; style: Style }

// CSI, OSC (ended by BEL or ST), other two- and three-character escapes; CSI, OSC (ended by BEL or ST), other two- and three-character escapes, and a truncated sequence at the end.
const control =
  /\x1b(?:\[([0-9:;<=>?]*)[ -/]*([@-~]|$)|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)|[ -/]*(?:[0-~]|$))|[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]/g

/** The text a terminal shows after carriage returns. */
const applyCarriageReturns = (text: string): string =>
  text.includes('\r') ? text.replaceAll('\r\n', '\n').split('\n').map(lastWritten).join('\n') : text

/** The text after the last carriage return; trailing ones overwrite nothing. */
const lastWritten = (line: string): string => {
  let end = line.length
  while (line[end - 1] === '\r') end--
  return line.slice(line.lastIndexOf('\r', end - 1) + 1, end)
}

export const parseAnsi = (raw: string): Piece[] => {
  const text = applyCarriageReturns(raw)
  const pieces: Piece[] = []
  let style: Style = {}
  let from = 0
  const push = (end: number) => {
    if (end > from) add(pieces, text.slice(from, end), style)
  }
  for (const match of text.matchAll(control)) {
    push(match.index)
    from = match.index + match[0].length
    if (match[2] === 'm' && !/[<=>?]/.test(match[1] ?? '')) style = applied(style, match[1] ?? '')
  }
  push(text.length)
  return pieces
}

/** The text without control sequences. */
export const stripAnsi = (raw: string): string => applyCarriageReturns(raw).replace(control, '')

const add = (pieces: Piece[], text: string, style: Style) => {
  const last = pieces.at(-1)
  if (last && last.style === style) last.text += text
  else pieces.push({ text, style })
}

const applied = (before: Style, parameters: string): Style => {
  const codes = parameters.split(/[;:]/).map(code => (code === '' ? 0 : Number(code)))
  let style: Style = { ...before }
  for (let at = 0; at < codes.length; at++) {
    const code = codes[at]!
    if (code === 0) style = {}
    else if (code === 1) style.bold = true
    else if (code === 2) style.dim = true
    else if (code === 3) style.italic = true
    else if (code === 4) style.underline = true
    else if (code === 7) style.inverse = true
    else if (code === 9) style.strike = true
    else if (code === 22) style = omit(style, 'bold', 'dim')
    else if (code === 23) style = omit(style, 'italic')
    else if (code === 24) style = omit(style, 'underline')
    else if (code === 27) style = omit(style, 'inverse')
    else if (code === 29) style = omit(style, 'strike')
    else if (code >= 30 && code <= 37) style.color = code - 30
    else if (code >= 90 && code <= 97) style.color = code - 82
    else if (code >= 40 && code <= 47) style.background = code - 40
    else if (code >= 100 && code <= 107) style.background = code - 92
    else if (code === 39) style = omit(style, 'color')
    else if (code === 49) style = omit(style, 'background')
    else if (code === 38 || code === 48) {
      const [color, used] = wide(codes, at + 1)
      if (color !== null) style[code === 38 ? 'color' : 'background'] = color
      at += used
    }
  }
  return style
}

const omit = (style: Style, ...keys: (keyof Style)[]): Style => {
  const rest = { ...style }
  for (const key of keys) delete rest[key]
  return rest
}

/** Color after 38 or 48 (`5;n` or `2;r;g;b`) and the number of parameters it used. */
const wide = (codes: number[], at: number): [number | string | null, number] => {
  if (codes[at] === 5) return [fromPalette(codes[at + 1] ?? 0), 2]
  if (codes[at] === 2) return [hex(codes.slice(at + 1, at + 4)), 4]
  return [null, 0]
}

const LEVELS = [0, 95, 135, 175, 215, 255]

const fromPalette = (index: number): number | string => {
  if (index < 16) return index
  if (index >= 232) return hex(Array(3).fill(8 + (Math.min(index, 255) - 232) * 10))
  const place = index - 16
  return hex([Math.floor(place / 36), Math.floor(place / 6) % 6, place % 6].map(n => LEVELS[n]!))
}

const hex = (parts: number[]): string => {
  const [red = 0, green = 0, blue = 0] = parts.map(part => Math.max(0, Math.min(255, part || 0)))
  return `#${[red, green, blue].map(part => part.toString(16).padStart(2, '0')).join('')}`
}
