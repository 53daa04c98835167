/** Highlights matches with the CSS Custom Highlight API and scrolls to the current one; the DOM is not changed. */
import { foldCase, type Match, indexesOf } from './find.ts'

const ALL = 'find'
const CURRENT = 'find-current'
/** Parts of a row that are not searched. */
const ASIDE = 'button, .tx-sr, .sr-only, [aria-hidden="true"], .md-code-head, .user-files'

/** A row may be rendered, measured and moved several times before its position is stable. */
const MAX_FRAMES = 12

/** Of one row. */
const MAX_HIGHLIGHTS = 1_000

/** Ranges of the matches of a row from number `from` on. */
const rangesIn = (row: Element, needle: string, from: number, to: number): Range[] => {
  const nodes: { node: Text; start: number }[] = []
  let text = ''
  const walker = document.createTreeWalker(row, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement?.closest(ASIDE)) continue
    nodes.push({ node: node as Text, start: text.length })
    text += node.nodeValue ?? ''
  }
  const pointOf = (at: number, isEnd: boolean) => {
    const entry = nodes.findLast(({ start }) => (isEnd ? start < at : start <= at))
    return entry ? ([entry.node, at - entry.start] as const) : null
  }
  const places = indexesOf(foldCase(text), needle, to)
  return places.slice(Math.max(0, Math.min(from, places.length - 1))).flatMap(at => {
    const start = pointOf(at, false)
    const end = pointOf(at + needle.length, true)
    if (!start || !end) return []
    const range = document.createRange()
    range.setStart(...start)
    range.setEnd(...end)
    return [range]
  })
}

export class FindHighlights {
  readonly #body: HTMLElement
  #frame = 0
  #closed = false
  #needle = ''
  #current: Match | null = null
  readonly #observer = new MutationObserver(() => this.#soon())

  constructor(body: HTMLElement) {
    this.#body = body
    this.#observer.observe(body, { childList: true, subtree: true, characterData: true })
  }

  readonly #paint = (): void => {
    this.#frame = 0
    // Browsers without highlights still scroll from match to match.
    if (this.#closed || !CSS.highlights) return
    const rows = this.#needle ? [...this.#body.querySelectorAll('.tx-row-text, .tx-row-user')] : []
    const here = this.#current && this.#needle ? this.#rangeOf(this.#current) : null
    const all = new Highlight()
    for (const row of rows)
      for (const range of rangesIn(row, this.#needle, 0, MAX_HIGHLIGHTS)) all.add(range)
    CSS.highlights.set(ALL, all)
    const top = new Highlight(...(here ? [here] : []))
    top.priority = 1
    CSS.highlights.set(CURRENT, top)
  }

  readonly #soon = (): void => {
    this.#frame ||= requestAnimationFrame(this.#paint)
  }

  show(text: string, match: Match | null): void {
    this.#needle = text
    this.#current = match
    this.#soon()
    if (match) this.#reveal(match)
  }

  /** Key of the first visible row. */
  top(): string | null {
    const edge = this.#body.querySelector('.tx-scroll')?.getBoundingClientRect().top ?? 0
    const rows = [...this.#body.querySelectorAll<HTMLElement>('.tx-row')]
    return rows.find(row => row.getBoundingClientRect().bottom > edge)?.dataset.key ?? null
  }

  close(): void {
    this.#closed = true
    this.#observer.disconnect()
    cancelAnimationFrame(this.#frame)
    this.#current = null
    CSS.highlights?.delete(ALL)
    CSS.highlights?.delete(CURRENT)
  }

  #rowOf(key: string): HTMLElement | null {
    return this.#body.querySelector<HTMLElement>(`.tx-row[data-key="${CSS.escape(key)}"]`)
  }

  #rangeOf({ key, n }: Match): Range | null {
    const row = this.#rowOf(key)
    // Rendered formulas and diagrams may contain fewer matches than their source: then the last.
    return (row && rangesIn(row, this.#needle, n, n + 1)[0]) ?? null
  }

  #reveal(match: Match, framesLeft = MAX_FRAMES): void {
    const scroller = this.#body.querySelector<HTMLElement>('.tx-scroll')
    if (!scroller || this.#current !== match || framesLeft === 0) return
    const row = this.#rowOf(match.key)
    if (!row) scroller.dispatchEvent(new CustomEvent('reveal', { detail: match.key }))
    // Expands a long message that is collapsed.
    row?.querySelector<HTMLElement>('.user-cut + .tx-more')?.click()
    const range = this.#rangeOf(match)
    const box = scroller.getBoundingClientRect()
    const rect = (range ?? row)?.getBoundingClientRect()
    if (rect && (rect.top < box.top + 56 || rect.top > box.bottom - 56)) {
      scroller.scrollTop += rect.top - box.top - box.height / 3
    }
    requestAnimationFrame(() => this.#reveal(match, framesLeft - 1))
  }
}
