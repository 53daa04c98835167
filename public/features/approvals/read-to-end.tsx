/** Box for content that must be read before it is approved: tracks whether its end was on screen, and a button leads there. */
import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { t } from './strings.ts'

/** Tolerance for rounded sizes on a zoomed page. */
const SLACK_PX = 4

export type ReadToEnd = {
  frame: RefObject<HTMLDivElement | null>
  /** Part of the content is below the edge. */
  hasMore: boolean
  isOpen: boolean
  /** The end of the content was on screen. */
  endSeen: boolean
  /** Expands the box; if it is expanded already, scrolls to its end. */
  advance: () => void
  close: () => void
}

/** The scrolling box inside the frame. */
const scrollerIn = (frame: HTMLElement | null) => frame?.querySelector('[role="group"]')

/** `shown` identifies the content; new content counts as unread. */
export const useReadToEnd = (shown: unknown): ReadToEnd => {
  const frame = useRef<HTMLDivElement>(null)
  const [hasMore, setCut] = useState(false)
  const [isOpen, setOpen] = useState(false)
  const [endSeen, setSeen] = useState(false)
  const look = useRef(() => {})
  look.current = () => {
    const scroller = scrollerIn(frame.current)
    if (!scroller) return
    const { scrollHeight, clientHeight, scrollTop } = scroller
    setCut(scrollHeight - clientHeight > SLACK_PX)
    setSeen(seen => seen || scrollHeight - clientHeight - scrollTop <= SLACK_PX)
  }
  useLayoutEffect(() => {
    setSeen(false)
    look.current()
  }, [shown])
  useLayoutEffect(() => look.current(), [isOpen])
  useEffect(() => {
    const scroller = scrollerIn(frame.current)
    if (!scroller) return
    const listen = () => look.current()
    // Its width decides how lines wrap; its content grows when fonts or colors load.
    const sizes = new ResizeObserver(listen)
    for (const element of [scroller, ...scroller.children]) sizes.observe(element)
    scroller.addEventListener('scroll', listen, { passive: true })
    return () => {
      sizes.disconnect()
      scroller.removeEventListener('scroll', listen)
    }
  }, [])
  return {
    frame,
    hasMore,
    isOpen,
    endSeen,
    advance() {
      const scroller = scrollerIn(frame.current)
      if (isOpen) scroller?.scrollTo({ top: scroller.scrollHeight })
      else setOpen(true)
    },
    close: () => setOpen(false),
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
  const { frame, hasMore, isOpen, endSeen, advance, close } = whole
  const isDone = isOpen && endSeen
  const isKey = keys && !endSeen
  return (
    <div class="whole" ref={frame} data-open={isOpen} data-more={hasMore && !endSeen}>
      {children}
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
