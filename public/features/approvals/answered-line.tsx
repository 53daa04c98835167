/** What is left of a card that waited for an answer. */
import { visibleText } from '../../../lib/base/visible.ts'
import { Icon } from '../../parts/icon.tsx'

/** What is left of a card once somebody has answered, here or elsewhere. */
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
