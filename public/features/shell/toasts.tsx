/** List of toasts. */
import { visibleWords } from '../../../lib/base/visible.ts'
import { Button, IconButton } from '../../parts/button.tsx'
import { Icon } from '../../parts/icon.tsx'

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

export const ToastList = (props: ToastsProps) => {
  const { label, dismissLabel, list, onDismiss, onPause, onResume } = props
  return (
    <section
      class="toasts"
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
          <span class="toast-text">{visibleWords(toast.text)}</span>
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
