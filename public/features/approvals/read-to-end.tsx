/** A box for something that must be read before it is decided about: where it does not fit, that is said, and one button leads to its end. */
import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { t } from './strings.ts'

/** Rounded sizes of a zoomed page differ by so much. */
const SLACK_PX = 4

export type ReadToEnd = {
  frame: RefObject<HTMLDivElement | null>
  /** Something of it lies below the edge. */
  hasMore: boolean
  isOpen: boolean
  /** Its end has been on the screen. */
  endSeen: boolean
  /** Grows it; where it still does not fit, goes to its end. */
  advance: () => void
  close: () => void
}

/** The box that scrolls stands somewhere in the frame. */
const scrollerIn = (frame: HTMLElement | null) => frame?.querySelector('[role="group"]')

/** `shown` is what the box shows: another one has not been seen. */
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
    // Its own width decides how its lines wrap; what is in it grows when a font or its colors arrive.
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
  /** What the button says while the box is small. */
  more: string
  /** Enter presses the button until the end has been seen. */
  keys?: boolean
  /** Has a `ScrollBox` in it. */
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
