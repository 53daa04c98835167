/** Popover anchored to an element, in the top layer; a bottom sheet on a narrow page. */
import { useSignal } from '@preact/signals'
import type { ComponentChildren, RefObject } from 'preact'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'

export type PopoverProps = {
  anchor: RefObject<HTMLElement | null>
  /** Opens there instead of at the anchor: where the pointer was. */
  at?: DOMRect | null
  onClose: () => void
  /** Preferred side; flipped when there is not enough space. */
  side?: 'above' | 'below'
  align?: 'start' | 'end'
  class?: string
  role?: 'dialog'
  label?: string
  children: ComponentChildren
}

const GAP = 6
const EDGE = 8

type Position = { left: number; top: number; maxHeight: number }

const positionFor = (
  anchor: DOMRect,
  box: { width: number; height: number },
  { side, align }: { side: 'above' | 'below'; align: 'start' | 'end' },
): Position => {
  const { innerWidth, innerHeight } = window
  const space = { above: anchor.top - GAP - EDGE, below: innerHeight - anchor.bottom - GAP - EDGE }
  const other = side === 'above' ? 'below' : 'above'
  const best = box.height > space[side] && space[other] > space[side] ? other : side
  const maxHeight = Math.max(120, space[best])
  const height = Math.min(box.height, maxHeight)
  const left = align === 'start' ? anchor.left : anchor.right - box.width
  return {
    left: Math.max(EDGE, Math.min(left, innerWidth - box.width - EDGE)),
    top: best === 'above' ? Math.max(EDGE, anchor.top - GAP - height) : anchor.bottom + GAP,
    maxHeight,
  }
}

export const Popover = (props: PopoverProps) => {
  const { anchor, at, onClose, side = 'below', align = 'start', role, label, children } = props
  const ref = useRef<HTMLDivElement>(null)
  const position = useSignal<Position | null>(null)

  useLayoutEffect(() => {
    const box = ref.current
    if (!box || !anchor.current) return
    box.showPopover()
    const measure = () => {
      if (!anchor.current) return
      const size = { width: box.offsetWidth, height: box.scrollHeight + 2 }
      position.value = positionFor(at ?? anchor.current.getBoundingClientRect(), size, {
        side,
        align,
      })
    }
    measure()
    // The content may grow while it is open.
    const observer = new ResizeObserver(measure)
    for (const child of box.children) observer.observe(child)
    window.addEventListener('resize', measure)
    return () => {
      observer.disconnect()
      window.removeEventListener('resize', measure)
    }
  }, [])

  useEffect(() => {
    const outside = (event: Event) => {
      const target = event.target as Node
      if (ref.current?.contains(target) || anchor.current?.contains(target)) return
      onClose()
    }
    const onEscape = (event: KeyboardEvent) => {
      if (event.key !== 'Escape') return
      event.stopPropagation()
      event.preventDefault()
      onClose()
      anchor.current?.focus()
    }
    document.addEventListener('pointerdown', outside, true)
    document.addEventListener('keydown', onEscape, true)
    return () => {
      document.removeEventListener('pointerdown', outside, true)
      document.removeEventListener('keydown', onEscape, true)
    }
  }, [onClose])

  return (
    <div
      ref={ref}
      popover="manual"
      class={`popover ${props.class ?? ''}`}
      {...(role ? { role, 'aria-label': label } : {})}
      style={
        position.value
          ? {
              left: `${position.value.left}px`,
              top: `${position.value.top}px`,
              maxHeight: `${position.value.maxHeight}px`,
            }
          : // Not `visibility`, because the content must be focusable before the next frame.
            { opacity: 0 }
      }
      onFocusOut={event => {
        const to = event.relatedTarget as Node | null
        if (to && !ref.current?.contains(to) && !anchor.current?.contains(to)) onClose()
      }}
    >
      {children}
    </div>
  )
}
