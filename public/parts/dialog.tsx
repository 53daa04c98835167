/** Modal dialog based on `<dialog>`: traps the focus; Escape and a click on the backdrop close it. */
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { IconButton } from './button.tsx'

export type DialogProps = {
  title: string
  /** Absent when the dialog can't be dismissed. */
  onClose?: (() => void) | undefined
  closeLabel?: string
  kind?: 'sheet' | 'wide' | 'palette' | 'keys'
  /** Hides the title visually. */
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

  // Before the next key: one that is typed at once belongs to the dialog.
  useLayoutEffect(() => {
    const dialog = ref.current
    const before = document.activeElement
    if (dialog && !dialog.open) dialog.showModal()
    return () => {
      // The element is already removed, so the browser doesn't restore the focus.
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
