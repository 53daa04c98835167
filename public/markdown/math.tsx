/** Formulas: KaTeX, loaded when the first one is met, writes MathML nodes without a style attribute. */
import { useEffect, useRef } from 'preact/hooks'

export function Formula({ text, display }: { text: string; display: boolean }) {
  const place = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    let current = true
    const element = place.current
    import('katex').then(
      ({ default: katex }) => {
        if (!current || !element) return
        const options = {
          output: 'mathml',
          displayMode: display,
          throwOnError: false,
          errorColor: 'currentColor',
          trust: false,
          maxExpand: 300,
          strict: false,
        } as const
        katex.render(text, element, options)
        element.classList.add('md-math-done')
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
