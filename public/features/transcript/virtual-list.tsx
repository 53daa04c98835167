/** The scrolling box: draws the rows around the reader, keeps what is read in its place, follows the end. */
import type { ReadonlySignal } from '@preact/signals'
import { useSignal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import { Icon } from '../../parts/icon.tsx'
import { t } from '../../strings/t.ts'
import { RowView } from './row-view.tsx'
import type { Row } from './rows.ts'
import {
  covers,
  createHeights,
  offsetOfRow,
  rangeAt,
  rangeAtEnd,
  sameRange,
} from './virtual-range.ts'
import type { Range, View } from './virtual-range.ts'

/** So near to the end counts as being there. */
const NEAR_END_PX = 32
/** So near to the top older messages are fetched. */
const NEAR_TOP_PX = 900
/** Drawing again after measuring ends after this many rounds, whatever the heights do. */
const MAX_ROUNDS = 4

type Anchor = { key: string; top: number }

export type VirtualListProps = {
  rows: ReadonlySignal<readonly Row[]>
  /** Shown above all rows and below them. */
  /** A turn runs: whatever is below is new. */
  running: ReadonlySignal<boolean>
  head: ComponentChildren
  tail: ComponentChildren
  onNearTop: () => void
}

const rowElements = (column: HTMLElement | null): HTMLElement[] =>
  column ? [...column.querySelectorAll<HTMLElement>(':scope > [data-key]')] : []

/** The first row that is in view, and how far its top stands below the box's own. */
const anchorOf = (scroller: HTMLElement, column: HTMLElement | null): Anchor | null => {
  const edge = scroller.getBoundingClientRect().top
  for (const element of rowElements(column)) {
    const box = element.getBoundingClientRect()
    if (box.bottom <= edge) continue
    const top = box.top - edge
    return top < scroller.clientHeight ? { key: element.dataset.key!, top } : null
  }
  return null
}

export function VirtualList({ rows, running, head, tail, onNearTop }: VirtualListProps) {
  const list = rows.value
  const [, setTick] = useState(0)
  const draw = () => setTick(tick => tick + 1)
  const heights = useMemo(createHeights, [])
  const scroller = useRef<HTMLDivElement>(null)
  const column = useRef<HTMLDivElement>(null)
  const space = useRef<HTMLDivElement>(null)
  const state = useRef({
    stick: true,
    top: 0,
    rounds: 0,
    frame: 0,
    width: 720,
    drawn: null as Range | null,
    /** What was being read, and how high everything was, when both were last sure. */
    kept: null as Anchor | null,
    height: 0,
  })
  /** The last row when the reader left the end; null while they are there. */
  const left = useSignal<string | null>(null)

  const view = (anchor: Anchor | null): View => {
    const box = scroller.current
    const { width } = state.current
    if (!box) return { top: 0, height: 900, width }
    // Rows may have come above: the place of what is being read counts, not the number of pixels.
    const place = anchor ? offsetOfRow(list, heights, anchor.key, width) : null
    const top =
      anchor && place !== null
        ? place - anchor.top
        : box.scrollTop - (space.current?.offsetTop ?? 0)
    return { top, height: box.clientHeight, width }
  }
  const wanted = (anchor: Anchor | null): Range =>
    state.current.stick
      ? rangeAtEnd(list, heights, view(null))
      : rangeAt(list, heights, view(anchor))
  const toEnd = () => {
    const box = scroller.current
    if (!box) return
    box.scrollTop = box.scrollHeight
    state.current.top = box.scrollTop
    state.current.height = box.scrollHeight
  }
  /** Distance to the end, in pixels. */
  const below = () => {
    const box = scroller.current
    return box ? box.scrollHeight - box.scrollTop - box.clientHeight : 0
  }
  /** Something shrank and the browser pushed the reader to the end: where they are now is not where they were. */
  const pushed = (box: HTMLElement): Anchor | null =>
    !state.current.stick && box.scrollHeight < state.current.height - 1 && below() <= 1
      ? state.current.kept
      : null
  const follow = (stick: boolean) => {
    if (state.current.stick === stick) return
    state.current.stick = stick
    left.value = stick ? null : (rows.peek().at(-1)?.key ?? '')
  }

  // Read before the new rows are put in: where what is being read stands now.
  const anchor =
    scroller.current && !state.current.stick
      ? (pushed(scroller.current) ?? anchorOf(scroller.current, column.current))
      : null
  const range = wanted(anchor)
  state.current.drawn = range

  const sizes = useMemo(() => {
    if (typeof ResizeObserver === 'undefined') return null
    return new ResizeObserver(entries => {
      const box = scroller.current
      if (!box) return
      const edge = box.getBoundingClientRect().top
      let shift = 0
      for (const { target } of entries) {
        const key = (target as HTMLElement).dataset.key
        if (!key) continue
        const { height, bottom } = target.getBoundingClientRect()
        const before = measured.current.get(key)
        measured.current.set(key, height)
        // Something above the visible part grew: an image, an opened card that was scrolled past.
        if (
          heights.take(key, height) &&
          before !== undefined &&
          bottom - (height - before) <= edge
        ) {
          shift += height - before
        }
      }
      const kept = pushed(box)
      if (state.current.stick) toEnd()
      else if (kept) restore(box, kept)
      else if (shift) box.scrollTop += shift
      else if (below() <= 0.5) follow(true)
      state.current.height = box.scrollHeight
    })
  }, [])
  const measured = useRef(new Map<string, number>())
  const observed = useRef(new Set<Element>())

  useLayoutEffect(() => {
    const box = scroller.current
    if (!box) return
    const present = new Set<Element>()
    let news = false
    for (const element of rowElements(column.current)) {
      present.add(element)
      if (observed.current.has(element)) continue
      sizes?.observe(element)
      const { height } = element.getBoundingClientRect()
      measured.current.set(element.dataset.key!, height)
      news = heights.take(element.dataset.key!, height) || news
    }
    for (const element of observed.current) if (!present.has(element)) sizes?.unobserve(element)
    observed.current = present
    if (state.current.stick) toEnd()
    else {
      if (anchor) restore(box, anchor)
      // Something was closed, and the end came to the reader.
      if (below() <= 0.5) follow(true)
    }
    if (news && state.current.rounds < MAX_ROUNDS && !sameRange(wanted(anchor), range)) {
      state.current.rounds++
      draw()
    } else state.current.rounds = 0
    if (box.scrollTop < NEAR_TOP_PX) onNearTop()
  })

  const restore = (box: HTMLElement, { key, top }: Anchor) => {
    const element = rowElements(column.current).find(row => row.dataset.key === key)
    if (!element) return
    const edge = box.getBoundingClientRect().top
    const moved = element.getBoundingClientRect().top - edge - top
    if (Math.abs(moved) >= 0.5) box.scrollTop += moved
    state.current.top = box.scrollTop
    state.current.height = box.scrollHeight
    state.current.kept = { key, top }
  }

  useEffect(() => {
    const box = scroller.current
    if (!box || typeof ResizeObserver === 'undefined') return
    const frame = new ResizeObserver(() => {
      const width = column.current?.clientWidth ?? state.current.width
      if (width !== state.current.width) {
        state.current.width = width
        heights.clear()
        observed.current.clear()
        draw()
      }
      if (state.current.stick) toEnd()
    })
    /** Somebody outside, a search, wants this row in view: drawn around first, then placed by whoever asked. */
    const onReveal = (event: Event) => {
      const { detail } = event as CustomEvent<string>
      const place = offsetOfRow(rows.peek(), heights, detail, state.current.width)
      if (place === null) return
      follow(false)
      box.scrollTop = (space.current?.offsetTop ?? 0) + place - box.clientHeight / 3
      draw()
    }
    box.addEventListener('reveal', onReveal)
    frame.observe(box)
    if (column.current) frame.observe(column.current)
    return () => {
      box.removeEventListener('reveal', onReveal)
      frame.disconnect()
      sizes?.disconnect()
      cancelAnimationFrame(state.current.frame)
    }
  }, [])

  /** What is opened by hand opens downwards, under the pointer: the end may go out of sight. */
  const onClick = (event: Event) => {
    const { target } = event
    if (!(target instanceof Element) || !state.current.stick) return
    if (!target.closest('.tx-row :is(button, summary)')) return
    follow(false)
    // Drawn by then; what opened nothing, a copy button, changes nothing.
    requestAnimationFrame(() => requestAnimationFrame(resume))
  }
  const resume = () => {
    if (below() <= NEAR_END_PX) follow(true)
  }

  /** The browser would glide to where the end was when the key was pressed. */
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 'End' || event.target !== scroller.current) return
    event.preventDefault()
    follow(true)
    draw()
  }

  const onScroll = () => {
    const box = scroller.current
    if (!box) return
    const kept = pushed(box)
    if (kept) restore(box, kept)
    else {
      if (below() <= NEAR_END_PX) follow(true)
      else if (box.scrollTop < state.current.top - 1) follow(false)
      state.current.top = box.scrollTop
      state.current.height = box.scrollHeight
      state.current.kept = state.current.stick ? null : anchorOf(box, column.current)
    }
    state.current.frame ||= requestAnimationFrame(() => {
      state.current.frame = 0
      const drawn = state.current.drawn
      if (!drawn) return
      if (!covers(drawn, list, heights, view(null))) draw()
      else if (box.scrollTop < NEAR_TOP_PX) onNearTop()
    })
  }

  const fresh = running.value || left.value !== list.at(-1)?.key
  return (
    <div class="tx-frame">
      <section
        class="tx-scroll"
        ref={scroller}
        onScroll={onScroll}
        onClickCapture={onClick}
        onKeyDown={onKey}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, and must do so by keyboard
        tabIndex={0}
        aria-label={t('tx.region')}
      >
        <div class="tx-column" ref={column}>
          {head}
          <div class="tx-space" ref={space} style={{ height: `${range.above}px` }} />
          {list.slice(range.start, range.end).map(row => (
            <RowBox key={row.key} row={row} />
          ))}
          <div class="tx-space" style={{ height: `${range.below}px` }} />
          {tail}
        </div>
      </section>
      {left.value !== null && (
        <button
          type="button"
          class="tx-new"
          aria-label={t(fresh ? 'tx.new.full' : 'tx.new.label')}
          onClick={() => {
            follow(true)
            draw()
          }}
        >
          <Icon name="arrow-down" />
          {fresh && t('tx.new')}
        </button>
      )}
    </div>
  )
}

/** A row that is the same value is the same tree. */
function RowBox({ row }: { row: Row }) {
  const body = useMemo(() => <RowView row={row} />, [row])
  const rest = row.kind === 'foot' && row.live
  return (
    <div class={`tx-row tx-row-${row.kind}${rest ? ' tx-row-rest' : ''}`} data-key={row.key}>
      {body}
    </div>
  )
}
