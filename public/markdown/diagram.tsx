/** A mermaid diagram on demand: drawn to SVG text, stripped of everything active, shown in a shadow root. */
import { useEffect, useRef, useState } from 'preact/hooks'
import { t } from '../strings/t.ts'

/** Elements that could run something, load something, or hold markup of another kind. */
const forbidden = 'script, foreignObject, iframe, image, use, a[href^="javascript" i], animate, set'

/** SVG text to a clean tree, its style sheets taken out: the page's policy admits no style in markup. */
export const cleanSvg = (svg: string): { root: SVGElement; css: string } | null => {
  const parsed = new DOMParser().parseFromString(svg, 'image/svg+xml')
  const root = parsed.documentElement
  if (!(root instanceof SVGElement)) return null
  let css = ''
  for (const style of root.querySelectorAll('style')) {
    css += style.textContent
    style.remove()
  }
  for (const element of root.querySelectorAll(forbidden)) element.remove()
  for (const element of [root, ...root.querySelectorAll<SVGElement>('*')]) {
    for (const { name, value } of [...element.attributes]) {
      const active = /^on/i.test(name) || /href$/i.test(name) || /url\(\s*['"]?(?!#)/i.test(value)
      if (active) element.removeAttribute(name)
    }
    const style = element.getAttribute('style')
    if (style === null) continue
    element.removeAttribute('style')
    element.style.cssText = style
  }
  return { root: document.importNode(root, true), css: css.replace(/@import[^;]*;/gi, '') }
}

/**
 * mermaid measures text in the page while it draws. Our policy blocks `style` attributes and style elements
 * without a nonce, so for that moment the former go through the object model and the latter get the nonce.
 */
const withStyles = async <T,>(run: () => Promise<T>): Promise<T> => {
  const nonce = document.querySelector<HTMLElement>(
    'script[nonce], style[nonce], link[nonce]',
  )?.nonce
  const { setAttribute } = Element.prototype
  const { createElement, createElementNS } = Document.prototype
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
  try {
    return await run()
  } finally {
    Element.prototype.setAttribute = setAttribute
    Document.prototype.createElement = createElement
    Document.prototype.createElementNS = createElementNS
  }
}

const draw = async (text: string, dark: boolean): Promise<string> => {
  const { default: mermaid } = await import('mermaid')
  mermaid.initialize({
    startOnLoad: false,
    securityLevel: 'strict',
    suppressErrorRendering: true,
    htmlLabels: false,
    flowchart: { htmlLabels: false },
    theme: dark ? 'dark' : 'neutral',
    fontFamily: 'system-ui, sans-serif',
  })
  const id = `diagram-${crypto.randomUUID()}`
  const { svg } = await withStyles(() => mermaid.render(id, text))
  return svg
}

const isDark = (element: Element): boolean => {
  const [red = 0, green = 0, blue = 0] =
    getComputedStyle(element)
      .color.match(/[\d.]+/g)
      ?.map(Number) ?? []
  return red + green + blue > 384
}

export function Diagram({ text, onFail }: { text: string; onFail: () => void }) {
  const place = useRef<HTMLDivElement>(null)
  const [state, setState] = useState<'drawing' | 'drawn' | 'failed'>('drawing')
  useEffect(() => {
    let current = true
    const element = place.current
    if (!element) return
    draw(text, isDark(element)).then(
      svg => {
        const clean = current ? cleanSvg(svg) : null
        if (!clean) return
        const shadow = element.shadowRoot ?? element.attachShadow({ mode: 'open' })
        const sheet = new CSSStyleSheet()
        sheet.replaceSync(`${clean.css}\nsvg{max-width:100%;height:auto;display:block;margin:auto}`)
        shadow.adoptedStyleSheets = [sheet]
        shadow.replaceChildren(clean.root)
        setState('drawn')
      },
      // A diagram with a mistake in it is common; the sentence says so and the source is one press away.
      () => current && setState('failed'),
    )
    return () => {
      current = false
    }
  }, [text])
  return (
    <div class="md-diagram">
      {state === 'drawing' && <p class="md-diagram-note">{t('code.drawing')}</p>}
      {state === 'failed' && (
        <p class="md-diagram-note">
          {t('code.undrawable')}{' '}
          <button type="button" class="tx-link" onClick={onFail}>
            {t('code.source')}
          </button>
        </p>
      )}
      <div ref={place} role="img" aria-label={t('code.diagram.label')} />
    </div>
  )
}
