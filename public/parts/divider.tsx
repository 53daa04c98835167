/** Draggable divider: resizes by pointer and keyboard; a double click resets. */

const STEP = 16

export type DividerProps = {
  label: string
  /** Its height, at the top. */
  width: number
  min: number
  max: number
  /** Where it is: a panel with its divider at the start or the top grows toward there. */
  edge?: 'end' | 'start' | 'top'
  onResize: (px: number) => void
  onReset: () => void
  /** Enter collapses the panel. */
  onCollapse: () => void
}

export const Divider = (props: DividerProps) => {
  const { label, width, min, max, edge = 'end', onResize, onReset, onCollapse } = props
  const step = edge === 'start' ? -STEP : STEP
  const isFlat = edge === 'top'
  return (
    // biome-ignore lint/a11y/useSemanticElements: a separator that moves has no element of its own
    <div
      class={edge === 'end' ? 'divider' : `divider divider-${edge}`}
      role="separator"
      tabIndex={0}
      aria-orientation={isFlat ? 'horizontal' : 'vertical'}
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
        if (isFlat) onResize(window.innerHeight - event.clientY)
        else onResize(edge === 'start' ? window.innerWidth - event.clientX : event.clientX)
      }}
      onDblClick={onReset}
      onKeyDown={event => {
        if (event.key === (isFlat ? 'ArrowDown' : 'ArrowLeft')) onResize(width - step)
        else if (event.key === (isFlat ? 'ArrowUp' : 'ArrowRight')) onResize(width + step)
        else if (event.key === 'Home') onResize(min)
        else if (event.key === 'End') onResize(max)
        else if (event.key === 'Enter') onCollapse()
        else return
        event.preventDefault()
      }}
    />
  )
}
