/** A modal on the platform's own <dialog>: focus stays inside, Escape and a click beside it close it. */
import type { ComponentChildren } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { IconButton } from './button.tsx'

export type DialogProps = {
  title: string
  /** Absent: it cannot be closed without an answer. */
  onClose?: (() => void) | undefined
  closeLabel?: string
  kind?: 'sheet' | 'wide' | 'palette'
  /** The title is spoken but not shown. */
  bare?: boolean
  children: ComponentChildren
}

export const Dialog = ({
  title,
  onClose,
  closeLabel,
  kind = 'sheet',
  bare,
  children,
}: DialogProps) => {
  const ref = useRef<HTMLDialogElement>(null)
  const titleId = useId()

  useEffect(() => {
    const dialog = ref.current
    const before = document.activeElement
    if (dialog && !dialog.open) dialog.showModal()
    return () => {
      // The element is gone already, and with it the browser's own return of the focus.
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])

  return (
    <dialog
      ref={ref}
      class={`dialog dialog-${kind}`}
      aria-labelledby={titleId}
      onCancel={event => {
        event.preventDefault()
        onClose?.()
      }}
      onMouseDown={event => {
        if (event.target === ref.current) onClose?.()
      }}
    >
      <div class="dialog-box">
        <header class={bare ? 'sr-only' : 'dialog-head'}>
          <h2 id={titleId}>{title}</h2>
          {onClose && closeLabel && !bare && (
            <IconButton icon="close" label={closeLabel} onClick={onClose} />
          )}
        </header>
        {children}
      </div>
    </dialog>
  )
}
