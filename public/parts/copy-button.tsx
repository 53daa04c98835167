/** Copy button that confirms with its label for a moment. */
import { useEffect, useState } from 'preact/hooks'
import { t } from '../strings/transcript-strings.ts'
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
    // The clipboard needs a secure origin and permission.
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
