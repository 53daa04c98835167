/** Links in a terminal: addresses in its text, and those that a program marks as links (OSC 8). */
import type { ILink, Terminal } from '@xterm/xterm'
import { addressIn } from '../../../lib/base/markdown/cjk.ts'

const ADDRESS = /https?:\/\/[^\s"'<>`]+/g
/** Punctuation after an address in a sentence. */
const AFTER = /[.,;:!?)\]}]+$/

/** Addresses of a line with the columns they begin at, counted from 0. */
export const addressesIn = (line: string): { text: string; at: number }[] =>
  [...line.matchAll(ADDRESS)].map(match => ({
    text: addressIn(match[0]).replace(AFTER, ''),
    at: match.index,
  }))

/** Only these: a program chooses the address, and the text it shows may name another one. */
const openAddress = (address: string): void => {
  const url = URL.parse(address)
  if (url && /^https?:$/.test(url.protocol)) window.open(url.href, '_blank', 'noopener,noreferrer')
}

/** An address that continues on the next line is joined. */
const linksAt = (terminal: Terminal, row: number): ILink[] => {
  const { active } = terminal.buffer
  let first = row
  while (first > 0 && active.getLine(first)?.isWrapped) first -= 1
  let text = ''
  for (let at = first; at === first || active.getLine(at)?.isWrapped; at++)
    text += active.getLine(at)?.translateToString(false) ?? ''
  const { cols } = terminal
  const place = (index: number) => ({
    x: (index % cols) + 1,
    y: first + Math.floor(index / cols) + 1,
  })
  return addressesIn(text)
    .map(address => ({
      text: address.text,
      range: { start: place(address.at), end: place(address.at + address.text.length - 1) },
      activate: () => openAddress(address.text),
    }))
    .filter(({ range }) => range.start.y <= row + 1 && range.end.y >= row + 1)
}

export const addLinks = (terminal: Terminal): void => {
  terminal.options.linkHandler = { activate: (_event, address) => openAddress(address) }
  terminal.registerLinkProvider({
    provideLinks: (row, done) => done(linksAt(terminal, row - 1)),
  })
}
