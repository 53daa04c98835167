/** Line that replaces an answered approval or question. */
import { visibleText } from '../../../lib/base/visible.ts'
import { Icon } from '../../parts/icon.tsx'

/** Replaces a card after it was answered, here or on another device. */
export function AnsweredLine({
  denied,
  text,
  object,
}: {
  denied: boolean
  text: string
  object: string
}) {
  return (
    <p class={denied ? 'ask-line ask-denied' : 'ask-line'}>
      <Icon name={denied ? 'close' : 'check'} size={14} />
      <span>{text}</span>
      {object && <code dir="ltr">{visibleText(object)}</code>}
    </p>
  )
}
