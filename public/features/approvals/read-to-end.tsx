/** Box for content that must be read before it is approved: tracks whether its end was on screen, and a button leads there. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { t } from './strings.ts'

/** Tolerance for rounded sizes on a zoomed page. */
const SLACK_PX = 4

export type ReadToEnd = {
  frame: RefObject<HTMLDivElement | null>
  /** An element behind the content. */
  edge: RefObject<HTMLSpanElement | null>
  /** Part of the content is below the edge. */
  hasMore: boolean
  isOpen: boolean
  /** The end of the content was on screen. */
  endSeen: boolean
  /** Brings the box onto the screen, expands it, loads what is left, and scrolls to its end: one of these at a time. */
  advance: () => void
  close: () => void
}

/** The scrolling box inside the frame. */
const scrollerIn = (frame: HTMLElement | null) => frame?.querySelector('[role="group"]')

/** The button for lines that are not drawn yet. */
const moreIn = (frame: HTMLElement | null) =>
  frame?.querySelector<HTMLButtonElement>('.tx-more') ?? null

/** `content` identifies the content; new content counts as unread. */
export const useReadToEnd = (content: unknown): ReadToEnd => {
  const frame = useRef<HTMLDivElement>(null)
  const edge = useRef<HTMLSpanElement>(null)
  const isOnScreen = useRef(false)
  const hasMore = useSignal(false)
  const isOpen = useSignal(false)
  const endSeen = useSignal(false)
  const look = useRef(() => {})
  look.current = () => {
    const scroller = scrollerIn(frame.current)
    if (!scroller) return
    const { scrollHeight, clientHeight, scrollTop } = scroller
    hasMore.value = scrollHeight - clientHeight > SLACK_PX
    const isAtEnd = scrollHeight - clientHeight - scrollTop <= SLACK_PX
    const isWhole = isAtEnd && isOnScreen.current && !moreIn(frame.current)
    endSeen.value = endSeen.value || isWhole
  }
  useLayoutEffect(() => {
    endSeen.value = false
    look.current()
  }, [content])
  useLayoutEffect(() => look.current(), [isOpen.value])
  useEffect(() => {
    const scroller = scrollerIn(frame.current)
    if (!scroller) return
    const listen = () => look.current()
    // Its width decides how lines wrap; its content grows when fonts or colors load.
    const sizes = new ResizeObserver(listen)
    for (const element of [scroller, ...scroller.children]) sizes.observe(element)
    scroller.addEventListener('scroll', listen, { passive: true })
    const screen = new IntersectionObserver(entries => {
      isOnScreen.current = entries.at(-1)?.isIntersecting ?? false
      listen()
    })
    if (edge.current) screen.observe(edge.current)
    return () => {
      sizes.disconnect()
      screen.disconnect()
      scroller.removeEventListener('scroll', listen)
    }
  }, [])
  return {
    frame,
    edge,
    hasMore: hasMore.value,
    isOpen: isOpen.value,
    endSeen: endSeen.value,
    advance() {
      const scroller = scrollerIn(frame.current)
      if (!isOnScreen.current) edge.current?.scrollIntoView({ block: 'center' })
      else if (hasMore.value && !isOpen.value) isOpen.value = true
      else {
        moreIn(frame.current)?.click()
        scroller?.scrollTo({ top: scroller.scrollHeight })
      }
    },
    close: () => {
      isOpen.value = false
    },
  }
}

type Props = {
  whole: ReadToEnd
  /** Label of the button while the box is collapsed. */
  more: string
  /** Enter presses the button until the end was seen. */
  keys?: boolean
  /** Contains a `ScrollBox`. */
  children: ComponentChildren
}

export function ReadToEndBox({ whole, more, keys = false, children }: Props) {
  const { frame, edge, hasMore, isOpen, endSeen, advance, close } = whole
  const isDone = isOpen && endSeen
  const isKey = keys && !endSeen
  return (
    <div class="whole" ref={frame} data-open={isOpen} data-more={hasMore && !endSeen}>
      {children}
      <span class="whole-edge" ref={edge} />
      {(hasMore || isOpen) && (
        <button
          type="button"
          class="ask-button whole-more"
          aria-expanded={isOpen}
          aria-keyshortcuts={isKey ? 'Enter' : undefined}
          onClick={isDone ? close : advance}
        >
          {isDone ? t('ask.less') : isOpen ? t('ask.end') : more}
          {isKey && (
            <span class="ask-key" aria-hidden="true">
              ↵
            </span>
          )}
        </button>
      )}
    </div>
  )
}
