/** Draggable divider: resizes by pointer and keyboard; a double click resets. */

const STEP = 16

export type DividerProps = {
  label: string
  width: number
  min: number
  max: number
  /** The divider is at the start of the panel, which grows toward the start. */
  atStart?: boolean
  onResize: (px: number) => void
  onReset: () => void
  /** Enter collapses the panel. */
  onCollapse: () => void
}

export const Divider = (props: DividerProps) => {
  const { label, width, min, max, atStart = false, onResize, onReset, onCollapse } = props
  const step = atStart ? -STEP : STEP
  return (
    // biome-ignore lint/a11y/useSemanticElements: a separator that moves has no element of its own
    <div
      class={atStart ? 'divider divider-end' : 'divider'}
      role="separator"
      tabIndex={0}
      aria-orientation="vertical"
      aria-label={label}
      aria-valuenow={width}
      aria-valuemin={min}
      aria-valuemax={max}
      onPointerDown={event => {
        event.preventDefault()
        event.currentTarget.setPointerCapture(event.pointerId)
      }}
      onPointerMove={event => {
        if (!event.currentTarget.hasPointerCapture(event.pointerId)) return
        onResize(atStart ? window.innerWidth - event.clientX : event.clientX)
      }}
      onDblClick={onReset}
      onKeyDown={event => {
        if (event.key === 'ArrowLeft') onResize(width - step)
        else if (event.key === 'ArrowRight') onResize(width + step)
        else if (event.key === 'Home') onResize(min)
        else if (event.key === 'End') onResize(max)
        else if (event.key === 'Enter') onCollapse()
        else return
        event.preventDefault()
      }}
    />
  )
}
