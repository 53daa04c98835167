/** What is at stake, in the page's language: the server's sentences are known ones, put together. */
import { STAKES } from '../../../lib/base/stakes.ts'
import { joinSentences } from '../../strings/join-sentences.ts'
import { translator } from '../../strings/t.ts'

const sentences = translator(STAKES)
const t = translator({
  'stake.network': '“{command}” wants to reach {host}.',
  'stake.network.private': '“{command}” wants to reach {host} in your own network.',
  'stake.network.named':
    '“{command}” wants to reach {host}, which is {address} in your own network.',
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

/** How a question about a destination begins. A command may contain anything, so it is matched up to the last such words. */
const NETWORK =
  /^`([\s\S]*)` wants to reach (\S+?)(?:,? (?:which is (\S+) )?(in your own network))?\.(?= |$)/

const translateKnown = (text: string): string =>
  text.replace(KNOWN, (sentence, count?: string) => {
    if (count !== undefined) return t('stake.more', { count: Number(count) })
    return sentences(LABELS.get(sentence)!)
  })

/** A description with its known sentences translated; the words of a rule or a server stay. */
export const translateStakes = (description: string): string => {
  const [network, command = '', host = '', address, isPrivate] = NETWORK.exec(description) ?? []
  if (network === undefined) return joinSentences(translateKnown(description))
  const first = address
    ? t('stake.network.named', { command, host, address })
    : t(isPrivate ? 'stake.network.private' : 'stake.network', { command, host })
  return joinSentences(`${first}${description.slice(network.length)}`)
}
