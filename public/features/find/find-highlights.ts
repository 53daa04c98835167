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
const rangesIn = (row: Element, wanted: string, from: number, to: number): Range[] => {
  const nodes: { node: Text; start: number }[] = []
  let text = ''
  const walker = document.createTreeWalker(row, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    if (node.parentElement?.closest(ASIDE)) continue
    nodes.push({ node: node as Text, start: text.length })
    text += node.nodeValue ?? ''
  }
  const pointOf = (at: number, isEnd: boolean) => {
    const found = nodes.findLast(({ start }) => (isEnd ? start < at : start <= at))
    return found ? ([found.node, at - found.start] as const) : null
  }
  const places = indexesOf(foldCase(text), wanted, to)
  return places.slice(Math.max(0, Math.min(from, places.length - 1))).flatMap(at => {
    const start = pointOf(at, false)
    const end = pointOf(at + wanted.length, true)
    if (!start || !end) return []
    const range = document.createRange()
    range.setStart(...start)
    range.setEnd(...end)
    return [range]
  })
}

export const createFindHighlights = (body: HTMLElement) => {
  let frame = 0
  let closed = false
  let wanted = ''
  let current: Match | null = null

  const rowOf = (key: string) =>
    body.querySelector<HTMLElement>(`.tx-row[data-key="${CSS.escape(key)}"]`)
  const rangeOf = ({ key, n }: Match): Range | null => {
    const row = rowOf(key)
    // Rendered formulas and diagrams may contain fewer matches than their source: then the last.
    return (row && rangesIn(row, wanted, n, n + 1)[0]) ?? null
  }

  const paint = (): void => {
    frame = 0
    // Browsers without highlights still scroll from match to match.
    if (closed || !CSS.highlights) return
    const rows = wanted ? [...body.querySelectorAll('.tx-row-text, .tx-row-user')] : []
    const here = current && wanted ? rangeOf(current) : null
    const all = new Highlight()
    for (const row of rows)
      for (const range of rangesIn(row, wanted, 0, MAX_HIGHLIGHTS)) all.add(range)
    CSS.highlights.set(ALL, all)
    const top = new Highlight(...(here ? [here] : []))
    top.priority = 1
    CSS.highlights.set(CURRENT, top)
  }
  const soon = (): void => {
    frame ||= requestAnimationFrame(paint)
  }
  const observer = new MutationObserver(soon)
  observer.observe(body, { childList: true, subtree: true, characterData: true })

  const reveal = (match: Match, framesLeft = MAX_FRAMES): void => {
    const scroller = body.querySelector<HTMLElement>('.tx-scroll')
    if (!scroller || current !== match || framesLeft === 0) return
    const row = rowOf(match.key)
    if (!row) scroller.dispatchEvent(new CustomEvent('reveal', { detail: match.key }))
    // Expands a long message that is collapsed.
    row?.querySelector<HTMLElement>('.user-cut + .tx-more')?.click()
    const range = rangeOf(match)
    const box = scroller.getBoundingClientRect()
    const rect = (range ?? row)?.getBoundingClientRect()
    if (rect && (rect.top < box.top + 56 || rect.top > box.bottom - 56)) {
      scroller.scrollTop += rect.top - box.top - box.height / 3
    }
    requestAnimationFrame(() => reveal(match, framesLeft - 1))
  }

  return {
    show(text: string, match: Match | null): void {
      wanted = text
      current = match
      soon()
      if (match) reveal(match)
    },
    /** Key of the first visible row. */
    top(): string | null {
      const edge = body.querySelector('.tx-scroll')?.getBoundingClientRect().top ?? 0
      const rows = [...body.querySelectorAll<HTMLElement>('.tx-row')]
      return rows.find(row => row.getBoundingClientRect().bottom > edge)?.dataset.key ?? null
    },
    close(): void {
      closed = true
      observer.disconnect()
      cancelAnimationFrame(frame)
      current = null
      CSS.highlights?.delete(ALL)
      CSS.highlights?.delete(CURRENT)
    },
  }
}
