/** From the bytes of a page to text a model can read. Its libraries are large: this file is loaded with its first use. */
import { Readability } from '@mozilla/readability'
import { parseHTML } from 'linkedom'
import TurndownService from 'turndown'

export type Readable = { title: string; text: string }

/** As the page says in its head, the header has said, or UTF-8. */
const charsetOf = (bytes: Buffer, said: string | null): string => {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8'
  const head = bytes.subarray(0, 2_048).toString('latin1')
  return said ?? /<meta[^>]{1,200}charset=["']?([\w-]{1,40})/i.exec(head)?.[1] ?? 'utf-8'
}

export const decode = (bytes: Buffer, said: string | null): string => {
  try {
    return new TextDecoder(charsetOf(bytes, said)).decode(bytes)
  } catch {
    // A name no decoder knows: most of it is readable all the same.
    return new TextDecoder().decode(bytes)
  }
}

/** Reading a page holds up everything else meanwhile: what is longer is read up to here. */
const MAX_HTML_CHARS = 1_000_000
const MAX_ELEMENTS = 40_000

/** Never part of what is read. */
const NOISE = 'script, style, noscript, template, iframe, svg, canvas, form, button, dialog'

const toMarkdown = (node: unknown): string =>
  new TurndownService({ headingStyle: 'atx', codeBlockStyle: 'fenced', bulletListMarker: '-' })
    // Pictures are not read, and what a page embeds as data would fill the answer.
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

/** A parser's own window; a page can only be malformed, never run. */
const parse = (html: string, url: string) => {
  const { document } = parseHTML(
    /<html[\s>]/i.test(html) ? html : `<html><body>${html}</body></html>`,
  )
  // Links are shown as they lead, wherever the text is read.
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
      // What is found is handed on as nodes, not written and parsed once more.
      serializer: node => node,
      maxElemsToParse: MAX_ELEMENTS,
    }).parse()
  } catch {
    // More elements than are worth the time, or a tree it cannot make sense of: read as a whole.
    return null
  }
}

/** Shorter is a teaser or a menu, not what the page is about. */
const MIN_ARTICLE_CHARS = 200

export const readHtml = (html: string, url: string): Readable => {
  const document = parse(html.slice(0, MAX_HTML_CHARS), url)
  const title = document.querySelector('title')?.textContent?.trim() ?? ''
  for (const element of document.querySelectorAll(NOISE)) element.remove()
  const whole = document.body?.cloneNode(true)
  const article = findArticle(document)
  const text = article?.content ? toMarkdown(article.content) : ''
  // A page without an article (a list, a form, a front page) is read as a whole.
  const isArticle = text.length >= MIN_ARTICLE_CHARS || !whole
  return {
    title: article?.title?.trim() || title,
    text: isArticle ? text : toMarkdown(whole),
  }
}
