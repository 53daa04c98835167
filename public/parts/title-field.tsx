/** The field in which the title of a chat is changed, in its header and in the list. */
import { isComposing } from './composing.ts'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { t } from '../strings/t.ts'

export type TitleFieldProps = {
  class: string
  title: string
  /** Null: it stays. */
  onDone: (title: string | null) => void
}

export const TitleField = ({ class: own, title, onDone }: TitleFieldProps) => {
  const ref = useRef<HTMLInputElement>(null)
  const finished = useRef(false)
  // Before the user can type into it.
  useLayoutEffect(() => ref.current?.select(), [])
  const finish = (keep: boolean) => {
    if (finished.current) return
    finished.current = true
    onDone((keep && ref.current?.value.trim()) || null)
  }
  return (
    <input
      ref={ref}
      class={own}
      aria-label={t('chat.title.label')}
      maxLength={80}
      value={title}
      onBlur={() => finish(true)}
      onKeyDown={event => {
        event.stopPropagation()
        if (event.key === 'Enter' && !isComposing(event)) finish(true)
        if (event.key === 'Escape') finish(false)
      }}
    />
  )
}
