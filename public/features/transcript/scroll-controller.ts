/** Scroll behavior of the virtualized transcript: visible range, following the end, and a stable reading position. */
import { type ReadonlySignal, signal } from '@preact/signals'
import type { TranscriptPlace } from '../shell/route.ts'
import type { TranscriptRow } from './rows.ts'
import {
  contains,
  covers,
  Heights,
  offsetOfRow,
  OVERSCAN_PX,
  type Range,
  rangeAt,
  rangeAtEnd,
  type View,
} from './virtual-range.ts'

/** Within this distance the reader counts as being at the end. */
const NEAR_END_PX = 32
/** Within this distance of the top older messages are loaded. */
const NEAR_TOP_PX = 900
/** Small enough that a slow phone answers a touch between two steps. */
const OVERSCAN_STEP_PX = 175
/** Re-renders after measuring stop after this many rounds. */
const MAX_ROUNDS = 4
/** Space above a row that was jumped to. */
const JUMP_TOP_PX = 16
/** The body of an opened card may be loaded first. */
const LATE_BODY_MS = 1_000
/** Width assumed before the first measurement. */
const DEFAULT_WIDTH_PX = 720
const DEFAULT_HEIGHT_PX = 900

const firstHeight = (): number =>
  typeof innerHeight === 'number' ? Math.min(innerHeight, DEFAULT_HEIGHT_PX) : DEFAULT_HEIGHT_PX

/** A row and the distance of its top from the top of the viewport, in pixels. */
type Anchor = { key: string; top: number; heading?: number | null }

const rowElements = (column: HTMLElement | null): HTMLElement[] =>
  column ? [...column.querySelectorAll<HTMLElement>(':scope > [data-key]')] : []

/** The first visible row. */
const firstVisible = (scroller: HTMLElement, column: HTMLElement | null): Anchor | null => {
  const edge = scroller.getBoundingClientRect().top
  for (const element of rowElements(column)) {
    const box = element.getBoundingClientRect()
    if (box.bottom <= edge) continue
    const top = box.top - edge
    return top < scroller.clientHeight ? { key: element.dataset.key!, top } : null
  }
  return null
}

export type ScrollControllerOptions = {
  /** Renders the list again. */
  render: () => void
}

export class ScrollController {
  /** The last row when the reader left the end; null while they are at the end. */
  readonly leftAt = signal<string | null>(null)
  /** Elements of the list, set by refs. */
  readonly scroller = { current: null as HTMLDivElement | null }
  readonly column = { current: null as HTMLDivElement | null }
  readonly space = { current: null as HTMLDivElement | null }

  readonly #render: () => void
  readonly #heights = new Heights()
  readonly #measured = new Map<string, number>()
  readonly #rowObserver: ResizeObserver | null
  #observed = new Set<Element>()
  #rows: readonly TranscriptRow[] = []
  #source: ReadonlySignal<readonly TranscriptRow[]> | null = null
  #running: ReadonlySignal<boolean> | null = null
  /** Least height of the column: what ends while a turn runs, as the output of a command, leaves its place to what follows. */
  #floor = 0
  /** The row that was the first one drawn, and where it was: what is above it was in the space, with estimated heights. */
  #first = { key: '', top: 0 }
  #onNearTop = () => {}
  #atEnd = true
  /** A click may be expanding something: being at the end does not mean following it. */
  #isHeld = false
  #release = 0
  #scrollTop = 0
  #scrollHeight = 0
  #frameHeight = 0
  #width = DEFAULT_WIDTH_PX
  #rounds = 0
  #frame = 0
  #rendered: Range | null = null
  /** The first render draws what is visible; the rows around it follow in steps once that is painted. */
  #overscan = 0
  /** Reading position before this render. */
  #anchor: Anchor | null = null
  /** A row that was jumped to, until its position is stable. */
  #target: (Anchor & { focus: boolean }) | null = null
  /** Last known reading position, for when the browser moves the viewport by itself. */
  #lastAnchor: Anchor | null = null

  constructor({ render }: ScrollControllerOptions) {
    this.#render = render
    this.#rowObserver =
      typeof ResizeObserver === 'undefined'
        ? null
        : new ResizeObserver(entries => this.#rowsResized(entries))
  }

  /** Called while rendering, before the DOM changes; returns the range of rows to render. */
  beginRender(
    source: ReadonlySignal<readonly TranscriptRow[]>,
    running: ReadonlySignal<boolean>,
    onNearTop: () => void,
  ): Range {
    this.#source = source
    this.#running = running
    this.#rows = source.value
    this.#onNearTop = onNearTop
    const scroller = this.scroller.current
    this.#anchor =
      scroller && !this.#atEnd
        ? (this.#target ??
          this.#pushedFrom(scroller) ??
          firstVisible(scroller, this.column.current))
        : null
    this.#rendered = this.#wantedRange()
    return this.#rendered
  }

  /** Called after the DOM was updated: measures new rows and restores the reading position. */
  endRender(): void {
    const scroller = this.scroller.current
    if (!scroller) return
    const hasNewHeights = this.#measureRows()
    if (this.#atEnd) this.#scrollToEnd()
    else {
      if (this.#anchor) this.#restore(scroller, this.#anchor)
      // Content was collapsed, so that the end came into view.
      this.#followWithin(0.5)
    }
    const isOutdated =
      hasNewHeights && this.#rounds < MAX_ROUNDS && !contains(this.#rendered!, this.#wantedRange())
    if (isOutdated) {
      this.#rounds++
      this.#render()
    } else {
      this.#rounds = 0
      this.#arrive()
    }
    if (scroller.scrollTop < NEAR_TOP_PX) this.#onNearTop()
  }

  /** Observes the scroller; returns the cleanup. */
  mount(): (() => void) | undefined {
    const scroller = this.scroller.current
    if (!scroller || typeof ResizeObserver === 'undefined') return undefined
    const observer = new ResizeObserver(() => this.#frameResized())
    const onReveal = (event: Event) => this.#reveal((event as CustomEvent<string>).detail)
    scroller.addEventListener('reveal', onReveal)
    observer.observe(scroller)
    if (this.column.current) observer.observe(this.column.current)
    let timer = 0
    const widen = () => {
      this.#overscan = Math.min(OVERSCAN_PX, this.#overscan + OVERSCAN_STEP_PX)
      this.#render()
      if (this.#overscan < OVERSCAN_PX) timer = window.setTimeout(widen)
    }
    // The callback of a frame runs before it is painted, a timer after it.
    const frame = requestAnimationFrame(() => {
      timer = window.setTimeout(widen)
    })
    return () => {
      cancelAnimationFrame(frame)
      clearTimeout(timer)
      scroller.removeEventListener('reveal', onReveal)
      observer.disconnect()
      this.#rowObserver?.disconnect()
      cancelAnimationFrame(this.#frame)
      clearTimeout(this.#release)
    }
  }

  jumpToEnd(): void {
    this.#drop()
    this.#follow(true)
    this.#render()
  }

  /** Places a row at the top of the viewport; false when there is no such row. */
  jumpTo({ row: key, heading, focus }: TranscriptPlace): boolean {
    if (!this.#source?.peek().some(row => row.key === key)) return false
    this.#target = { key, top: JUMP_TOP_PX, heading, focus }
    this.#drop()
    this.#follow(false)
    this.#render()
    return true
  }

  readonly onScroll = (): void => {
    const scroller = this.scroller.current
    if (!scroller) return
    const anchor = this.#pushedFrom(scroller)
    if (anchor) this.#restore(scroller, anchor)
    else {
      const isNear = this.#followWithin(NEAR_END_PX)
      const isUp = !isNear && scroller.scrollTop < this.#scrollTop - 1
      // The plan or the queue closed, so that the browser moved the list, and more came before this event: nobody scrolled.
      if (isUp && this.#atEnd && scroller.clientHeight > this.#frameHeight) this.#scrollToEnd()
      else if (isUp) {
        this.#drop()
        this.#follow(false)
      }
      this.#remember(scroller)
      this.#lastAnchor = this.#atEnd ? null : firstVisible(scroller, this.column.current)
    }
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0
      if (!this.#rendered) return
      if (!covers(this.#rendered, this.#rows, this.#heights, this.#view(null))) this.#render()
      else if (scroller.scrollTop < NEAR_TOP_PX) this.#onNearTop()
    })
  }

  /** A card opened by a click expands downward from the pointer, so stop following the end. */
  readonly onClick = ({ target }: Event): void => {
    if (!(target instanceof Element) || !this.#atEnd) return
    const button = target.closest('.tx-row :is(button, summary)')
    const row = button?.closest<HTMLElement>('.tx-row')
    if (!button || !row) return
    const before = row.offsetHeight
    // The browser renders between this handler and that of the button, when nothing has expanded yet.
    this.#isHeld = true
    this.#atEnd = false
    const release = () => {
      this.#isHeld = false
      if (this.#followWithin(NEAR_END_PX)) return
      // Only what was opened is read where it is; what came below an answered card, or a copied text, is followed.
      if (row.isConnected && row.offsetHeight > before) this.#leave()
      else this.jumpToEnd()
    }
    // After the next render.
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        if (!this.#isHeld) return
        const isOpen = button.matches('[aria-expanded="true"], [open] > summary')
        if (isOpen) this.#release = window.setTimeout(release, LATE_BODY_MS)
        else release()
      }),
    )
  }

  /** The reader goes elsewhere before it is known what a click has opened. */
  #drop(): void {
    if (!this.#isHeld) return
    window.clearTimeout(this.#release)
    this.#isHeld = false
    this.#leave()
  }

  /** The browser would scroll smoothly to where the end was when the key was pressed. */
  readonly onKey = (event: KeyboardEvent): void => {
    const isOwn =
      event.target === this.scroller.current ||
      (event.target instanceof Element && event.target.matches('.tx-row'))
    if (event.key !== 'End' || !isOwn) return
    event.preventDefault()
    this.jumpToEnd()
  }

  #view(anchor: Anchor | null): View {
    const scroller = this.scroller.current
    const around = { width: this.#width, overscan: this.#overscan }
    if (!scroller) return { top: 0, height: firstHeight(), ...around }
    // Rows may have been added above: use the offset of the anchor, not the scroll position.
    const offset = anchor ? offsetOfRow(this.#rows, this.#heights, anchor.key, this.#width) : null
    const top =
      anchor && offset !== null
        ? offset - anchor.top
        : scroller.scrollTop - (this.space.current?.offsetTop ?? 0)
    return { top, height: scroller.clientHeight, ...around }
  }

  #wantedRange(): Range {
    return this.#atEnd
      ? rangeAtEnd(this.#rows, this.#heights, this.#view(null))
      : rangeAt(this.#rows, this.#heights, this.#view(this.#anchor))
  }

  #setFloor(height: number): void {
    this.#floor = height
    const column = this.column.current
    if (column) column.style.minBlockSize = height > 0 ? `${height}px` : ''
  }

  #scrollToEnd(): void {
    const scroller = this.scroller.current
    if (!scroller) return
    const height = this.#running?.peek() ? (this.column.current?.offsetHeight ?? 0) : 0
    if (height > this.#floor) this.#setFloor(height)
    scroller.scrollTop = scroller.scrollHeight
    this.#remember(scroller)
  }

  #remember(scroller: HTMLElement): void {
    this.#scrollTop = scroller.scrollTop
    this.#scrollHeight = scroller.scrollHeight
    this.#frameHeight = scroller.clientHeight
  }

  #distanceToEnd(): number {
    const scroller = this.scroller.current
    return scroller ? scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight : 0
  }

  /** The earlier reading position if content shrank and the browser clamped the scroll position to the end. */
  #pushedFrom(scroller: HTMLElement): Anchor | null {
    const isPushed =
      !this.#atEnd && scroller.scrollHeight < this.#scrollHeight - 1 && this.#distanceToEnd() <= 1
    return isPushed ? this.#lastAnchor : null
  }

  #follow(atEnd: boolean): void {
    if (this.#atEnd === atEnd) return
    this.#atEnd = atEnd
    if (atEnd) this.leftAt.value = null
    else this.#leave()
  }

  #leave(): void {
    if (!this.#running?.peek()) this.#setFloor(0)
    this.leftAt.value = this.#source?.peek().at(-1)?.key ?? ''
  }

  /** Follows the end when it is this close; whether it is. */
  #followWithin(distance: number): boolean {
    const isNear = this.#distanceToEnd() <= distance
    if (isNear && !this.#isHeld) this.#follow(true)
    return isNear
  }

  #restore(scroller: HTMLElement, anchor: Anchor): void {
    const { key, top, heading } = anchor
    const element = this.#rowElement(key)
    if (!element) return
    const edge = scroller.getBoundingClientRect().top
    const headings = heading == null ? [] : element.querySelectorAll('.md > :is(h3, h4, h5, h6)')
    const place = headings[heading ?? 0] ?? element
    const moved = place.getBoundingClientRect().top - edge - top
    if (Math.abs(moved) >= 0.5) scroller.scrollTop += moved
    this.#remember(scroller)
    this.#lastAnchor = { key, top: element.getBoundingClientRect().top - edge }
  }

  #rowElement(key: string): HTMLElement | undefined {
    return rowElements(this.column.current).find(row => row.dataset.key === key)
  }

  /** The jump has ended. */
  #arrive(): void {
    const target = this.#target
    this.#target = null
    if (!target?.focus) return
    const row = this.#rowElement(target.key)
    if (!row) return
    // Only now: a row that can always have the focus takes it with each click on its text.
    row.tabIndex = -1
    row.addEventListener('blur', () => row.removeAttribute('tabindex'), { once: true })
    row.focus({ preventScroll: true })
  }

  /** Measures and observes rows that are new in the DOM; true when a height was new. */
  #measureRows(): boolean {
    const present = new Set<Element>()
    // What the space was too high by, or is now by better estimates, is no output that has ended.
    const misjudged = this.#topOf(this.#first.key) - this.#first.top
    if (this.#floor > 0 && misjudged) this.#setFloor(this.#floor + misjudged)
    const { key = '' } = this.#rows[this.#rendered?.start ?? 0] ?? {}
    this.#first = { key, top: this.#topOf(key) }
    let isNew = false
    for (const element of rowElements(this.column.current)) {
      present.add(element)
      if (this.#observed.has(element)) continue
      this.#rowObserver?.observe(element)
      const { height } = element.getBoundingClientRect()
      const key = element.dataset.key!
      this.#measured.set(key, height)
      isNew = this.#heights.take(key, height) || isNew
    }
    for (const element of this.#observed) {
      if (!present.has(element)) this.#rowObserver?.unobserve(element)
    }
    this.#observed = present
    return isNew
  }

  /** Where a row begins in the column; that of the first one that was drawn for a row that is gone. */
  #topOf(key: string): number {
    const { offsetTop = 0 } = this.space.current ?? {}
    const element = this.#rowElement(key)
    if (element) return element.offsetTop
    const offset = offsetOfRow(this.#rows, this.#heights, key, this.#width)
    return offset === null ? this.#first.top : offsetTop + offset
  }

  #rowsResized(entries: readonly ResizeObserverEntry[]): void {
    const scroller = this.scroller.current
    if (!scroller) return
    const edge = scroller.getBoundingClientRect().top
    let shift = 0
    for (const { target } of entries) {
      const key = (target as HTMLElement).dataset.key
      if (!key) continue
      const { height, bottom } = target.getBoundingClientRect()
      const before = this.#measured.get(key)
      this.#measured.set(key, height)
      const isNew = this.#heights.take(key, height)
      // A row above the viewport grew: an image loaded, or an expanded card that was scrolled past.
      if (isNew && before !== undefined && bottom - (height - before) <= edge) {
        shift += height - before
      }
    }
    const anchor = this.#pushedFrom(scroller)
    if (this.#atEnd) this.#scrollToEnd()
    else if (anchor) this.#restore(scroller, anchor)
    else if (shift) scroller.scrollTop += shift
    else this.#followWithin(0.5)
    this.#scrollHeight = scroller.scrollHeight
  }

  #frameResized(): void {
    const width = this.column.current?.clientWidth ?? this.#width
    if (width !== this.#width) {
      this.#width = width
      this.#setFloor(0)
      this.#heights.clear()
      this.#observed.clear()
      // Scrolls to the end, too. Until then the heights of the space are those of the other width.
      this.#render()
    } else if (this.#atEnd) this.#scrollToEnd()
  }

  /** Scrolls near a row that is not rendered; the find bar then places it exactly. */
  #reveal(key: string): void {
    const scroller = this.scroller.current
    const rows = this.#source?.peek() ?? []
    const offset = offsetOfRow(rows, this.#heights, key, this.#width)
    if (!scroller || offset === null) return
    this.#drop()
    this.#follow(false)
    scroller.scrollTop = (this.space.current?.offsetTop ?? 0) + offset - scroller.clientHeight / 3
    this.#render()
  }
}
