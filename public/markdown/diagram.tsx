/** Mermaid diagram: rendered to SVG, sanitized, and shown in a shadow root. */
import { useSignal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import { randomId } from '../parts/random-id.ts'
import { t } from '../strings/diagram-strings.ts'
import { boxHeight, drawnHeights } from './diagram-size.ts'
import { trustedHtml, withTrust } from './trusted-types.ts'

/** Elements that could run scripts, load resources, or contain foreign markup. */
const forbidden = 'script, foreignObject, iframe, image, use, a[href^="javascript" i], animate, set'

/** Hides styles from the parser, which reports each inline style as a CSP violation, even in a separate document. */
const PARKED = 'data-style'
const parkStyles = (markup: string): { markup: string; css: string } => {
  let css = ''
  const rest = markup.replace(/<style\b[^>]*>([\s\S]*?)<\/style>/gi, (_, text: string) => {
    css += text
    return ''
  })
  return { markup: rest.replace(/(<[^<>]*?)\sstyle=/gi, `$1 ${PARKED}=`), css }
}

/** Parses and sanitizes SVG; style sheets are extracted, because the CSP allows no inline styles. */
const cleanSvg = (svg: string): { root: SVGElement; css: string } | null => {
  const { markup, css } = parkStyles(svg)
  const svgDocument = new DOMParser().parseFromString(trustedHtml(markup), 'image/svg+xml')
  const root = svgDocument.documentElement
  if (!(root instanceof SVGElement)) return null
  for (const element of root.querySelectorAll(forbidden)) element.remove()
  for (const element of [root, ...root.querySelectorAll<SVGElement>('*')]) {
    for (const { name, value } of [...element.attributes]) {
      const active = /^on/i.test(name) || /href$/i.test(name) || /url\(\s*['"]?(?!#)/i.test(value)
      if (active) element.removeAttribute(name)
    }
    const style = element.getAttribute(PARKED)
    if (style === null) continue
    element.removeAttribute(PARKED)
    element.style.cssText = style
  }
  return { root: document.importNode(root, true), css: css.replace(/@import[^;]*;/gi, '') }
}

/**
 * mermaid measures text in the page while it renders, and sanitizes its SVG with a parser. Our CSP blocks and reports
 * inline styles, so `style` attributes are set through the CSSOM, style elements get the nonce,
 * and parsed markup has its styles removed. Returns the result of `run` and the removed style sheets.
 */
const withStyles = async (run: () => Promise<string>): Promise<{ svg: string; css: string }> => {
  const nonce = document.querySelector<HTMLElement>(
    'script[nonce], style[nonce], link[nonce]',
  )?.nonce
  const { setAttribute } = Element.prototype
  const { createElement, createElementNS } = Document.prototype
  const { parseFromString } = DOMParser.prototype
  let css = ''
  const admit = <E extends Element>(element: E): E => {
    if (nonce && element.localName === 'style') (element as unknown as HTMLElement).nonce = nonce
    return element
  }
  Element.prototype.setAttribute = function (name: string, value: string) {
    if (name === 'style' && 'style' in this) (this as HTMLElement).style.cssText = value
    else setAttribute.call(this, name, value)
  }
  Document.prototype.createElement = function (this: Document, ...rest: [string]) {
    return admit(createElement.apply(this, rest))
  } as typeof createElement
  Document.prototype.createElementNS = function (this: Document, ...rest: [string, string]) {
    return admit(createElementNS.apply(this, rest))
  } as typeof createElementNS
  DOMParser.prototype.parseFromString = function (markup, type) {
    const parked = parkStyles(`${markup}`)
    css = parked.css || css
    return parseFromString.call(this, trustedHtml(parked.markup), type)
  }
  try {
    const svg = await run()
    return { svg, css }
  } finally {
    Element.prototype.setAttribute = setAttribute
    Document.prototype.createElement = createElement
    Document.prototype.createElementNS = createElementNS
    DOMParser.prototype.parseFromString = parseFromString
  }
}

/** Theme colors under mermaid's names. */
const colors = (element: Element) => {
  const style = getComputedStyle(element)
  const token = (name: string) => style.getPropertyValue(`--${name}`).trim() || '#888888'
  return {
    background: token('bg-sunken'),
    primaryColor: token('bg-raised'),
    primaryTextColor: token('text'),
    primaryBorderColor: token('line'),
    secondaryColor: token('sel'),
    tertiaryColor: token('bg'),
    lineColor: token('text-dim'),
    textColor: token('text'),
    edgeLabelBackground: token('bg-sunken'),
    noteBkgColor: token('sel'),
    noteTextColor: token('text'),
  }
}

/** One diagram at a time: while one is drawn, prototypes of the page are changed. */
const queue = { last: Promise.resolve() as Promise<unknown> }

const draw = (text: string, place: Element) => {
  const drawing = queue.last.then(() => drawNow(text, place))
  queue.last = drawing.catch(() => undefined)
  return drawing
}

const drawNow = async (text: string, place: Element) => {
  const { default: mermaid } = await import('mermaid')
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: 'strict',
    suppressErrorRendering: true,
    htmlLabels: false,
    look: 'classic',
    // mermaid's own choice, ELK, is not bundled; see build/pack-mermaid.mjs.
    layout: 'dagre',
    theme: 'base',
    themeVariables: colors(place),
    fontFamily: 'system-ui, sans-serif',
  })
  const id = `diagram-${randomId()}`
  // mermaid measures its drawing in the page.
  const measured = document.createElement('div')
  measured.className = 'md-diagram-measured'
  document.body.append(measured)
  try {
    return await withTrust(() =>
      withStyles(async () => (await mermaid.render(id, text, measured)).svg),
    )
  } finally {
    measured.remove()
  }
}

/** Increases when the theme changes, because a diagram contains the theme's colors. */
const useTheme = (): number => {
  const count = useSignal(0)
  useEffect(() => {
    const seen = new MutationObserver(() => {
      count.value = count.value + 1
    })
    seen.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    return () => seen.disconnect()
  }, [])
  return count.value
}

/** The height at which it is as large as its text, or as wide as the column. */
const remember = (text: string, root: SVGElement, columnPx: number): void => {
  const [, , width = 0, height = 0] = (root.getAttribute('viewBox') ?? '')
    .split(/[\s,]+/)
    .map(Number)
  if (width > 0 && height > 0)
    drawnHeights.set(text, boxHeight(height * Math.min(1, columnPx / width)))
}

const STYLE = 'svg{display:block;inline-size:100%;block-size:100%;margin:auto}'

/** Drawn when it is near the visible part. It fits into its box, whose size does not change. */
export function Diagram({ text, onFail }: { text: string; onFail: () => void }) {
  const place = useRef<HTMLDivElement>(null)
  const isNear = useSignal(false)
  const isDrawn = useSignal(false)
  const theme = useTheme()
  useEffect(() => {
    const element = place.current
    if (!element) return
    const seen = new IntersectionObserver(
      entries => {
        if (entries.some(entry => entry.isIntersecting)) isNear.value = true
      },
      { rootMargin: '400px' },
    )
    seen.observe(element)
    return () => seen.disconnect()
  }, [])
  useEffect(() => {
    let current = true
    const element = place.current
    if (!element || !isNear.value) return
    draw(text, element).then(
      ({ svg, css }) => {
        const clean = current ? cleanSvg(svg) : null
        if (!clean) return
        const shadow = element.shadowRoot ?? element.attachShadow({ mode: 'open' })
        const sheet = new CSSStyleSheet()
        sheet.replaceSync(`${css}${clean.css}\n${STYLE}`)
        shadow.adoptedStyleSheets = [sheet]
        shadow.replaceChildren(clean.root)
        isDrawn.value = true
        remember(text, clean.root, element.clientWidth)
      },
      // Invalid diagrams are common: the source is shown instead.
      () => current && onFail(),
    )
    return () => {
      current = false
    }
  }, [text, isNear.value, theme])
  return (
    <div class="md-diagram">
      {!isDrawn.value && <p class="md-diagram-note">{t('code.rendering')}</p>}
      <div ref={place} class="md-diagram-drawn" role="img" aria-label={t('code.diagram.label')} />
    </div>
  )
}
