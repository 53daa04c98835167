/** Why an approval is asked for, in the page's language. */
import { STAKES } from '../../../lib/base/stakes.ts'
import { visibleText } from '../../../lib/base/visible.ts'
import type { Approval, Reason } from '../../../lib/schema/question.ts'
import { joinSentences } from '../../strings/join-sentences.ts'
import { serverText } from '../../strings/server-text.ts'
import { translator } from '../../strings/t.ts'

const stakes = translator('stake', STAKES)
const t = translator('approvals.stake', {
  'stake.network': '“{command}” wants to reach {host}.',
  'stake.network.private': '“{command}” wants to reach {host} in your own network.',
  'stake.network.named':
    '“{command}” wants to reach {host}, which is {address} in your own network.',
  'stake.subagent': 'A subagent asks. Its task: {task}',
  'stake.more': {
    one: '{count} more reason to ask.',
    other: '{count} more reasons to ask.',
  },
})

/** Undefined: a newer server knows it. */
const wordsOf = (reason: Reason): string | undefined => {
  if ('more' in reason) return t('stake.more', { count: reason.more })
  if ('text' in reason) return visibleText(reason.text)
  if ('subagent' in reason) return t('stake.subagent', { task: visibleText(reason.subagent) })
  if ('reaches' in reason) {
    const { command, place, private: isPrivate, address } = reason.reaches
    const values = { command: visibleText(command), host: visibleText(place) }
    if (address) return t('stake.network.named', { ...values, address: visibleText(address) })
    return t(isPrivate ? 'stake.network.private' : 'stake.network', values)
  }
  return Object.hasOwn(STAKES, reason.stake) ? stakes(reason.stake) : undefined
}

/** The words of a rule or of another program stay. */
export const whyAsked = ({
  description,
  reasons,
  sentences,
}: Pick<Approval, 'description' | 'reasons' | 'sentences'>): string => {
  const words = reasons?.map(wordsOf) ?? [undefined]
  return words.includes(undefined)
    ? serverText(visibleText(description), sentences?.description)
    : joinSentences(...words)
}
