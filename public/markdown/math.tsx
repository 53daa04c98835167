/** Formulas rendered by KaTeX as MathML without style attributes; loaded on first use. */
import { useLayoutEffect, useRef } from 'preact/hooks'

type Katex = typeof import('katex').default
/** The loaded library: later formulas render synchronously, without layout shift. */
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
      // Offline or an invalid formula: the source text stays.
      () => undefined,
    )
    return () => {
      current = false
    }
  }, [text, display])
  // KaTeX owns the content; the key recreates the element when the formula changes.
  return (
    <span key={text} class={display ? 'md-math md-math-block' : 'md-math'} ref={place}>
      {text}
    </span>
  )
}
