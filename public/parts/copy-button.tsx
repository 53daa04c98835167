/** Copy button that confirms with its label for a moment. */
import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { t } from '../strings/transcript-strings.ts'
import { Icon } from './icon.tsx'
import type { IconName } from './icon.tsx'

const SHOWN_MS = 1500

export function CopyButton(props: {
  text: string | (() => string)
  label: string
  icon?: IconName
}) {
  const state = useSignal<'idle' | 'done' | 'failed'>('idle')
  useEffect(() => {
    if (state.value === 'idle') return
    const timer = setTimeout(() => {
      state.value = 'idle'
    }, SHOWN_MS)
    return () => clearTimeout(timer)
  }, [state.value])
  const copy = () => {
    const text = typeof props.text === 'string' ? props.text : props.text()
    // The clipboard needs a secure origin and permission.
    const writing =
      navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'))
    writing.then(
      () => {
        state.value = 'done'
      },
      () => {
        state.value = 'failed'
      },
    )
  }
  const label =
    state.value === 'idle'
      ? props.label
      : state.value === 'done'
        ? t('copy.done')
        : t('copy.failed')
  return (
    <button type="button" class="tx-tool" onClick={copy} aria-label={label} title={label}>
      <Icon
        name={
          state.value === 'done'
            ? 'check'
            : state.value === 'failed'
              ? 'alert'
              : (props.icon ?? 'copy')
        }
      />
    </button>
  )
}
