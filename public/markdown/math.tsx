/** Formulas: KaTeX, loaded when the first one is met, writes MathML nodes without a style attribute. */
import { useLayoutEffect, useRef } from 'preact/hooks'

type Katex = typeof import('katex').default
/** The library once it is here: later formulas are drawn at once and do not move the text. */
const library: { katex?: Katex } = {}

const options = {
  output: 'mathml',
  throwOnError: false,
  errorColor: 'currentColor',
  trust: false,
  maxExpand: 300,
  strict: false,
} as const

const draw = (katex: Katex, element: HTMLElement, text: string, displayMode: boolean) => {
  katex.render(text, element, { ...options, displayMode })
  element.classList.add('md-math-done')
}

export function Formula({ text, display }: { text: string; display: boolean }) {
  const place = useRef<HTMLSpanElement>(null)
  useLayoutEffect(() => {
    const element = place.current
    if (!element) return
    if (library.katex) {
      draw(library.katex, element, text, display)
      return
    }
    let current = true
    import('katex').then(
      ({ default: katex }) => {
        library.katex = katex
        if (current) draw(katex, element, text, display)
      },
      // Offline or a broken formula: its source stays, which is what stood there before.
      () => undefined,
    )
    return () => {
      current = false
    }
  }, [text, display])
  // KaTeX owns what is inside; the key makes a changed formula a new element.
  return (
    <span key={text} class={display ? 'md-math md-math-block' : 'md-math'} ref={place}>
      {text}
    </span>
  )
}
