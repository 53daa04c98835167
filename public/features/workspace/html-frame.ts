/** Sanitizes untrusted HTML for the preview's sandboxed frame: styles apply, nothing runs, nothing is fetched. */
import {
  type DefaultTreeAdapterTypes,
  html as names,
  parse,
  parseFragment,
  serializeOuter,
} from 'parse5'

type Node = DefaultTreeAdapterTypes.ChildNode
type Element = DefaultTreeAdapterTypes.Element
type Parent = DefaultTreeAdapterTypes.ParentNode

/** Elements that run code, load something, or navigate. The frame's CSP blocks them as well. */
const DROPPED: ReadonlySet<string> = new Set([
  'script',
  'link',
  'base',
  'iframe',
  'frame',
  'object',
  'embed',
  'portal',
])

const isElement = (node: Node): node is Element => 'tagName' in node

const isDropped = (node: Element): boolean =>
  DROPPED.has(node.tagName.toLowerCase()) ||
  (node.tagName === 'meta' && node.attrs.some(({ name }) => name === 'http-equiv'))

/** Attributes that load something. The CSP would block the request; without the attribute it is never attempted. */
const LOADING: ReadonlySet<string> = new Set([
  'src',
  'srcset',
  'imagesrcset',
  'poster',
  'background',
  'data',
])
const LOADING_ELEMENTS: ReadonlySet<string> = new Set(['image', 'use', 'feImage'])

const isLoading = ({ tagName }: Element, { name, value }: { name: string; value: string }) =>
  (LOADING.has(name) || (name === 'href' && LOADING_ELEMENTS.has(tagName))) &&
  !/^\s*(?:data:|#)/i.test(value)

const setAttribute = (element: Element, name: string, value: string): void => {
  element.attrs = [...element.attrs.filter(each => each.name !== name), { name, value }]
}

/** All descendants. Iterative: markup may nest deeper than the call stack allows. */
function* elementsOf(root: Parent): Generator<Element> {
  const open: Parent[] = [root]
  for (let parent = open.pop(); parent; parent = open.pop()) {
    parent.childNodes = parent.childNodes.filter(child => !isElement(child) || !isDropped(child))
    for (const child of parent.childNodes) {
      if (!isElement(child)) continue
      yield child
      open.push(child)
      if ('content' in child) open.push((child as DefaultTreeAdapterTypes.Template).content)
    }
  }
}

/** Turns style attributes into rules of equal precedence, because the CSP allows only styles with a nonce. */
const inlineStylesToRules = (root: Parent, nonce: string): string => {
  const rules: string[] = []
  for (const element of elementsOf(root)) {
    element.attrs = element.attrs.filter(each => !isLoading(element, each))
    if (element.tagName === 'style') setAttribute(element, 'nonce', nonce)
    const style = element.attrs.find(({ name }) => name === 'style')
    if (!style) continue
    const name = `data-s${rules.length}`
    rules.push(`${`[${name}]`.repeat(4)}{${style.value.replace(/[<{}]/g, '')}}`)
    element.attrs = [...element.attrs.filter(each => each !== style), { name, value: '' }]
  }
  return rules.join('\n')
}

const escapeText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')

/** The fallback for markup nested too deeply to serialize: its source. */
const asSource = (head: string, html: string): string =>
  `<!doctype html><html><head>${head}</head><body><pre>${escapeText(html)}</pre></body></html>`

const childOf = (parent: Parent, name: string): Element =>
  parent.childNodes.find(node => isElement(node) && node.tagName === name) as Element

/**
 * Parses the document as a browser would and serializes it again, so that the CSP is the first thing in it, whatever the
 * source looks like. `nonce` is the page's, whose CSP the frame inherits.
 */
export const frameDocument = (html: string, nonce: string): string => {
  const policy = `default-src 'none'; style-src 'nonce-${nonce}'; img-src data:; font-src data:`
  const meta = `<meta http-equiv="Content-Security-Policy" content="${policy}">`
  const document = parse(html, { scriptingEnabled: false })
  const rules = inlineStylesToRules(document, nonce)
  // The parser always creates an html element and a head.
  const root = childOf(document, 'html')
  const head = childOf(root, 'head')
  const own = parseFragment(`${meta}<style nonce="${nonce}">${rules}</style>`)
  head.childNodes = [...own.childNodes, ...head.childNodes]
  // Drops comments between the two.
  root.childNodes = root.childNodes.slice(root.childNodes.indexOf(head))
  const doctype = document.mode === names.DOCUMENT_MODE.QUIRKS ? '' : '<!doctype html>'
  try {
    return `${doctype}${serializeOuter(root)}`
  } catch (error) {
    if (error instanceof RangeError) return asSource(meta, html)
    throw error
  }
}
