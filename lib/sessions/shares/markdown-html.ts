/**
 * Markdown as static HTML for pages that others may open. Every text is escaped, raw HTML is shown as text, links are absolute
 * http, https or mailto URLs, and nothing is loaded: pictures and files become their names.
 */
import type { DecisionSentence } from '../../schema/decision-words.ts'
import { lex, type Token, type Tokens } from '../../base/markdown/lexer.ts'
import { decodeEntities, hiddenHost, safeLink } from '../../base/markdown/links.ts'
import { type DetailsToken, groupDetails, type TagToken } from '../../base/markdown/plain-tags.ts'
import { escapeHtml } from '../../http/html-template.ts'

type Notes = ReadonlyMap<string, number>

const fileName = (path: string): string =>
  path
    .replace(/[?#].*$/s, '')
    .split(/[\\/]/)
    .at(-1) ?? ''

const labelHtml = (kind: 'Picture' | 'File', name: string): string =>
  `<span class="named">${escapeHtml(name ? `${kind}: ${name}` : kind)}</span>`

const inline = (tokens: readonly Token[] | undefined, notes: Notes): string =>
  (tokens ?? []).map(token => inlineHtml(token, notes)).join('')

const link = ({ href, text, tokens }: Tokens.Link, notes: Notes): string => {
  const children = inline(tokens, notes)
  const safe = safeLink(href)
  // Files of the workspace and links within it lead nowhere outside.
  if (!safe) return children
  const host = hiddenHost(decodeEntities(text), safe)
  const url = escapeHtml(safe)
  const hostHtml = host ? ` <bdi class="host">(${escapeHtml(host)})</bdi>` : ''
  return `<a href="${url}" title="${url}" target="_blank" rel="noopener noreferrer nofollow">${children}</a>${hostHtml}`
}

const inlineHtml = (token: Token, notes: Notes): string => {
  switch (token.type) {
    case 'text':
      return token.tokens ? inline(token.tokens, notes) : escapeHtml(decodeEntities(token.text))
    case 'escape':
      return escapeHtml(token.text)
    case 'strong':
    case 'em':
    case 'del':
      return `<${token.type}>${inline(token.tokens, notes)}</${token.type}>`
    case 'tag': {
      const { tag, tokens } = token as TagToken
      return `<${tag}>${inline(tokens, notes)}</${tag}>`
    }
    case 'codespan':
    case 'mathInline':
      return `<code dir="ltr">${escapeHtml(token.text)}</code>`
    case 'br':
      return '<br>'
    case 'link':
      return link(token as Tokens.Link, notes)
    case 'image':
      return labelHtml('Picture', decodeEntities(token.text))
    case 'media':
      return labelHtml('File', fileName(token.text))
    case 'footnoteRef': {
      const number = notes.get(token.label)
      return number === undefined ? escapeHtml(token.raw) : `<sup>${number}</sup>`
    }
    case 'checkbox':
      return ''
    default:
      return escapeHtml(token.raw)
  }
}

const blocks = (tokens: readonly Token[] | undefined, notes: Notes): string =>
  groupDetails(tokens ?? [], lex)
    .map(token => blockHtml(token, notes))
    .join('\n')

const details = ({ summary, tokens, open }: DetailsToken, notes: Notes): string => {
  const summaryHtml = summary ? `<summary>${inline(summary, notes)}</summary>` : ''
  return `<details dir="auto"${open ? ' open' : ''}>${summaryHtml}${blocks(tokens, notes)}</details>`
}

const list = ({ ordered, start, items }: Tokens.List, notes: Notes): string => {
  const tag = ordered ? 'ol' : 'ul'
  const first = ordered && Number(start) !== 1 ? ` start="${Number(start)}"` : ''
  const rows = items.map(item => {
    const box = item.task
      ? `<span role="img" aria-label="${item.checked ? 'Done' : 'Not done'}">${item.checked ? '☑' : '☐'}</span> `
      : ''
    return `<li${item.task ? ' class="task"' : ''}>${box}${blocks(item.tokens, notes)}</li>`
  })
  return `<${tag} dir="auto"${first}>${rows.join('')}</${tag}>`
}

const table = ({ header, rows }: Tokens.Table, notes: Notes): string => {
  const row = (tag: 'th' | 'td', cells: readonly Tokens.TableCell[]): string =>
    `<tr>${cells.map(cell => `<${tag}${cell.align ? ` class="${cell.align}"` : ''}>${inline(cell.tokens, notes)}</${tag}>`).join('')}</tr>`
  // A region that scrolls can be reached with the keyboard.
  return `<div class="wide" role="group" aria-label="Table" tabindex="0"><table dir="auto"><thead>${row('th', header)}</thead><tbody>${rows.map(cells => row('td', cells)).join('')}</tbody></table></div>`
}

const blockHtml = (token: Token, notes: Notes): string => {
  switch (token.type) {
    case 'paragraph':
      return `<p dir="auto">${inline(token.tokens, notes)}</p>`
    case 'heading': {
      // The title of the page is the first level, the speakers are the second.
      const tag = `h${Math.min(6, (token as Tokens.Heading).depth + 2)}`
      return `<${tag} dir="auto">${inline(token.tokens, notes)}</${tag}>`
    }
    case 'code':
    case 'mathBlock':
      return codeBlock(token.text)
    case 'blockquote':
      return `<blockquote dir="auto">${blocks(token.tokens, notes)}</blockquote>`
    case 'list':
      return list(token as Tokens.List, notes)
    case 'table':
      return table(token as Tokens.Table, notes)
    case 'details':
      return details(token as DetailsToken, notes)
    case 'hr':
      return '<hr>'
    case 'html':
      return `<p dir="auto">${escapeHtml(token.raw.trimEnd())}</p>`
    case 'footnote':
    case 'checkbox':
    case 'def':
    case 'space':
      return ''
    default:
      return inlineHtml(token, notes)
  }
}

export const codeBlock = (text: string): string =>
  `<pre dir="ltr" tabindex="0"><code>${escapeHtml(text)}</code></pre>`

/** Text as the person typed it. */
export const plainHtml = (text: string): string =>
  `<p class="plain" dir="auto">${escapeHtml(text)}</p>`

export const markdownHtml = (text: string): string => {
  try {
    const tokens = lex(text)
    const footnotes = tokens.filter(token => token.type === 'footnote')
    const notes: Notes = new Map(
      footnotes.map((note, index) => [(note as Tokens.Generic).label as string, index + 1]),
    )
    const list = footnotes.map(note => `<li>${blocks((note as Tokens.Generic).tokens, notes)}</li>`)
    const end =
      list.length > 0
        ? `\n<section class="notes" aria-label="Footnotes"><ol>${list.join('')}</ol></section>`
        : ''
    return `${blocks(tokens, notes)}${end}`
  } catch (error) {
    // Deep nesting overflows the stack.
    if (error instanceof RangeError) return plainHtml(text)
    throw error
  }
}

export const decisionHtml = ({ lead, what, isCode, end }: DecisionSentence): string => {
  const whatHtml = isCode ? `<code>${escapeHtml(what)}</code>` : escapeHtml(what)
  return `<p class="decision"><b>${escapeHtml(lead)}</b> ${whatHtml} ${escapeHtml(end)}</p>`
}
