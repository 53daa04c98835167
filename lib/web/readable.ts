/** Converts the bytes of a page to text for a model. Loaded on first use, because its libraries are large. */
import { Readability } from '@mozilla/readability'
import { parseHTML } from 'linkedom'
// Without a parser of its own: it is given elements.
import TurndownService from 'turndown/lib/turndown.browser.cjs.js'

export type Readable = { title: string; text: string }

/** The charset of the HTTP header, else of the page's head, else UTF-8. */
const charsetOf = (bytes: Buffer, headerCharset: string | null): string => {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8'
  const head = bytes.subarray(0, 2_048).toString('latin1')
  return headerCharset ?? /<meta[^>]{1,200}charset=["']?([\w-]{1,40})/i.exec(head)?.[1] ?? 'utf-8'
}

export const decode = (bytes: Buffer, headerCharset: string | null): string => {
  try {
    return new TextDecoder(charsetOf(bytes, headerCharset)).decode(bytes)
  } catch {
    // Unknown charset: decode as UTF-8, most of the text is readable.
    return new TextDecoder().decode(bytes)
  }
}

/** Parsing blocks the event loop, so longer pages are cut here, in characters. */
const MAX_HTML_CHARS = 1_000_000
const MAX_ELEMENTS = 40_000

/** Elements that are never content. */
const NOISE = 'script, style, noscript, template, iframe, svg, canvas, form, button, dialog'

const toMarkdown = (node: unknown): string =>
  new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-' })
    // Images aren't readable as text, and data URLs would fill the result.
    .addRule('pictures', {
      filter: ['img', 'picture'],
      replacement: (_, element) => {
        const alt = (element as { getAttribute?: (name: string) => string | null }).getAttribute?.(
          'alt',
        )
        return alt ? `[image: ${alt}]` : ''
      },
    })
    .turndown(node as string)
    .replace(/\n{3,}/g, '\n\n')
    .trim()

/** A parser without script execution. */
const parse = (html: string, url: string) => {
  const { document } = parseHTML(
    /<html[\s>]/i.test(html) ? html : `<html><body>${html}</body></html>`,
  )
  // Links are made absolute, since the text is read elsewhere.
  for (const link of document.querySelectorAll('a[href]')) {
    const href = link.getAttribute('href') ?? ''
    if (!URL.canParse(href, url)) continue
    const target = new URL(href, url)
    if (/^https?:$/.test(target.protocol)) link.setAttribute('href', target.href)
    else link.removeAttribute('href')
  }
  return document
}

const findArticle = (document: unknown) => {
  try {
    return new Readability(document as ConstructorParameters<typeof Readability>[0], {
      // Pass nodes on, to avoid serializing and parsing again.
      serializer: node => node,
      maxElemsToParse: MAX_ELEMENTS,
    }).parse()
  } catch {
    // Too many elements, or a tree Readability can't handle: use the whole page.
    return null
  }
}

/** Shorter results are a teaser or a menu, in characters. */
const MIN_ARTICLE_CHARS = 200

export const readHtml = (html: string, url: string): Readable => {
  const document = parse(html.slice(0, MAX_HTML_CHARS), url)
  const title = document.querySelector('title')?.textContent?.trim() ?? ''
  for (const element of document.querySelectorAll(NOISE)) element.remove()
  const whole = document.body?.cloneNode(true)
  const article = findArticle(document)
  const text = article?.content ? toMarkdown(article.content) : ''
  // A page without an article (a list, a form, a front page) is used as a whole.
  const isArticle = text.length >= MIN_ARTICLE_CHARS || !whole
  return {
    title: article?.title?.trim() || title,
    text: isArticle ? text : toMarkdown(whole),
  }
}
