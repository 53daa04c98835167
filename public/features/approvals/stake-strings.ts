/** What is at stake, in the page's language: the server's sentences are known ones, put together. */
import { STAKES } from '../../../lib/base/stakes.ts'
import { joinSentences } from '../../strings/join-sentences.ts'
import { translator } from '../../strings/t.ts'

const sentences = translator(STAKES)
const t = translator({
  'stake.more': {
    one: '{count} more reason to ask.',
    other: '{count} more reasons to ask.',
  },
})

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
const LABELS = new Map(Object.entries(STAKES).map(([label, sentence]) => [sentence, label]))
const KNOWN = new RegExp(
  [...[...LABELS.keys()].map(escaped), '(\\d+) more reasons? to ask\\.'].join('|'),
  'g',
)

/** A description with its known sentences translated; the words of a rule or a server stay. */
export const translateStakes = (description: string): string =>
  joinSentences(
    description.replace(KNOWN, (sentence, count?: string) => {
      if (count !== undefined) return t('stake.more', { count: Number(count) })
      return sentences(LABELS.get(sentence)!)
    }),
  )
