/** Validates URLs of links and images in model text, and decodes character references. */
import { parseDataUrl } from '../data-url.ts'

const linkProtocols = new Set(['http:', 'https:', 'mailto:'])

/** The URL of a link, or null: only absolute http, https and mailto URLs. */
export const safeLink = (href: string): string | null => {
  const text = decodeEntities(href).trim()
  if (!/^(https?:\/\/|mailto:)/i.test(text)) return null
  const url = URL.parse(text)
  return url && linkProtocols.has(url.protocol) ? url.href : null
}

/**
 * The host of a link whose text shows another one: look-alike letters, a user name before the host (`https://bank.example@evil.example`),
 * or the address of another site. Null when the text names the host, or no host at all.
 */
export const hiddenHost = (text: string, href: string): string | null => {
  const match = /^\s*(?:https?:\/\/([^/?#\s]*)|([^\s/@:]+\.\p{L}{2,})(?=[/?#:\s]|$))/iu.exec(text)
  const host = URL.parse(href)?.host
  if (!match || !host) return null
  return (match[1] ?? match[2])!.toLowerCase().replace(/^www\./, '') === host.replace(/^www\./, '')
    ? null
    : host
}

/** Raster images only, because SVG may contain scripts. Anything that needs a request is `remote`. */
export const safeImage = (src: string): { kind: 'data' | 'remote'; src: string } | null => {
  const text = decodeEntities(src).trim()
  if (/^image\/(?:png|jpe?g|gif|webp|avif)$/.test(parseDataUrl(text)?.mediaType ?? '')) {
    return { kind: 'data', src: text }
  }
  const href = safeLink(text)
  return href?.startsWith('http') ? { kind: 'remote', src: href } : null
}

const entities: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  copy: '©',
  reg: '®',
  trade: '™',
  hellip: '…',
  mdash: '—',
  ndash: '–',
  laquo: '«',
  raquo: '»',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  times: '×',
  middot: '·',
  bull: '•',
  rarr: '→',
  larr: '←',
  uarr: '↑',
  darr: '↓',
  le: '≤',
  ge: '≥',
  ne: '≠',
  deg: '°',
  plusmn: '±',
  euro: '€',
  colon: ':',
  Tab: '\t',
  NewLine: '\n',
}

const fromCode = (code: number): string =>
  code > 0 && code <= 0x10ffff && !(code >= 0xd800 && code < 0xe000)
    ? String.fromCodePoint(code)
    : '\ufffd'

/** `marked` leaves character references to the HTML parser, which is not used here. */
export const decodeEntities = (text: string): string =>
  text.includes('&')
    ? text.replace(
        /&(?:#x([0-9a-f]{1,6})|#(\d{1,7})|([a-z]{2,8}));?/gi,
        (whole, hex, decimal, name) =>
          hex
            ? fromCode(Number.parseInt(hex, 16))
            : decimal
              ? fromCode(Number(decimal))
              : whole.endsWith(';')
                ? (entities[name] ?? whole)
                : whole,
      )
    : text
