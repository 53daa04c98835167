/** A small button that puts a text on the clipboard and says so for a moment. */
import { useEffect, useState } from 'preact/hooks'
import { t } from '../strings/t.ts'
import { Icon } from './icon.tsx'
import type { IconName } from './icon.tsx'

const SHOWN_MS = 1500

export function CopyButton(props: {
  text: string | (() => string)
  label: string
  icon?: IconName
}) {
  const [state, setState] = useState<'idle' | 'done' | 'failed'>('idle')
  useEffect(() => {
    if (state === 'idle') return
    const timer = setTimeout(() => setState('idle'), SHOWN_MS)
    return () => clearTimeout(timer)
  }, [state])
  const copy = () => {
    const text = typeof props.text === 'string' ? props.text : props.text()
    // Without a secure origin or permission there is no clipboard; the button says so.
    const writing =
      navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'))
    writing.then(
      () => setState('done'),
      () => setState('failed'),
    )
  }
  const label =
    state === 'idle' ? props.label : state === 'done' ? t('copy.done') : t('copy.failed')
  return (
    <button type="button" class="tx-tool" onClick={copy} aria-label={label} title={label}>
      <Icon
        name={state === 'done' ? 'check' : state === 'failed' ? 'alert' : (props.icon ?? 'copy')}
      />
    </button>
  )
}
