/** List of toasts. */
import { useSignal } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { Button, IconButton } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'
import { visibleMessage } from '../../strings/t.ts'

export type ToastView = {
  id: number
  text: string
  kind: 'info' | 'error'
  action: { label: string; run: () => void } | null
}

export type ToastsProps = {
  label: string
  dismissLabel: string
  list: readonly ToastView[]
  onDismiss: (id: number) => void
  onPause: () => void
  onResume: () => void
}

type Box = Pick<DOMRect, 'top' | 'bottom' | 'left' | 'right'>

const GAP_PX = 8

/** Pixels by which `box` has to move down to leave what was pressed visible; 0 where there is no place below it. */
export const clearanceOf = (box: Box, pressed: Box | null, viewHeight: number): number => {
  const isCovered =
    pressed !== null &&
    pressed.bottom > box.top &&
    pressed.top < box.bottom &&
    pressed.right > box.left &&
    pressed.left < box.right
  if (!isCovered) return 0
  const clearance = pressed.bottom + GAP_PX - box.top
  return box.bottom + clearance <= viewHeight ? clearance : 0
}

export const ToastList = (props: ToastsProps) => {
  const { label, dismissLabel, list, onDismiss, onPause, onResume } = props
  const place = useRef<HTMLElement>(null)
  /** Where the last press was, in the viewport: its element may be gone when the toast appears. */
  const pressed = useRef<DOMRect | null>(null)
  const clearance = useSignal(0)
  useEffect(() => {
    const remember = ({ target }: Event) => {
      const control = (target as Element).closest('button, a, input, label, [role]')
      pressed.current = control?.getBoundingClientRect() ?? null
    }
    document.addEventListener('pointerdown', remember, true)
    return () => document.removeEventListener('pointerdown', remember, true)
  }, [])
  useLayoutEffect(() => {
    // Without a toast nothing is measured: the page would be laid out for it before it is shown.
    const box = list.length > 0 && place.current?.getBoundingClientRect()
    if (!box) {
      clearance.value = 0
      return
    }
    const { top, left, right } = box
    const bottom = box.bottom - clearance.value
    clearance.value = clearanceOf({ top, left, right, bottom }, pressed.current, innerHeight)
  }, [list])
  return (
    <section
      ref={place}
      class="toasts"
      style={{ paddingBlockStart: `${clearance.value}px` }}
      aria-label={label}
      aria-live="polite"
      onMouseEnter={onPause}
      onMouseLeave={onResume}
      onFocusIn={onPause}
      onFocusOut={onResume}
    >
      {list.map(toast => (
        <div key={toast.id} class={`toast toast-${toast.kind}`}>
          {toast.kind === 'error' && <Icon name="alert" size={16} />}
          <span class="toast-text">{visibleMessage(toast.text)}</span>
          {toast.action && (
            <Button
              kind="quiet"
              onClick={() => {
                toast.action?.run()
                onDismiss(toast.id)
              }}
            >
              {toast.action.label}
            </Button>
          )}
          <IconButton
            icon="close"
            size={14}
            label={dismissLabel}
            onClick={() => onDismiss(toast.id)}
          />
        </div>
      ))}
    </section>
  )
}
