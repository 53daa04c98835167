/** Why an approval is asked for: codes with values, and the same in English for logs and for clients that know no code. */
import { moreReasons, STAKES } from '../base/stakes.ts'
import type { Reason } from '../schema/question.ts'

const wordsOf = (reason: Reason): string => {
  if ('stake' in reason) return STAKES[reason.stake] ?? ''
  if ('more' in reason) return moreReasons(reason.more)
  if ('text' in reason) return reason.text
  if ('subagent' in reason) return `A subagent asks. Its task: ${reason.subagent}`
  const { command, place, private: isPrivate, address } = reason.reaches
  const which = address ? `, which is ${address}` : ''
  const where = address || isPrivate ? ' in your own network' : ''
  return `\`${command}\` wants to reach ${place}${which}${where}.`
}

/** A label without a sentence is one of an allowlist or another program. */
const toReason = (label: string): Reason =>
  Object.hasOwn(STAKES, label)
    ? { stake: label }
    : { text: `${label.slice(0, 1).toUpperCase()}${label.slice(1)}.` }

const MOST = 4

/** One reason per label without repeats; of many, the most severe and a count. */
export const stakesOf = (labels: readonly string[]): Reason[] => {
  const all = new Map(labels.map(toReason).map(reason => [wordsOf(reason), reason]))
  const more = all.size - MOST
  return [...[...all.values()].slice(0, MOST), ...(more > 0 ? [{ more }] : [])]
}

/** The reason with each of its texts as it may be shown. */
export const shownReason = (reason: Reason, show: (text: string) => string): Reason => {
  if ('text' in reason) return { text: show(reason.text) }
  if ('subagent' in reason) return { subagent: show(reason.subagent) }
  if (!('reaches' in reason)) return reason
  const { command, place, address, ...others } = reason.reaches
  const reach = { ...others, command: show(command), place: show(place) }
  return { reaches: { ...reach, ...(address !== undefined && { address: show(address) }) } }
}

/** The fields of an approval. Empty sentences are left out. */
export const reasonFields = (...parts: readonly (string | Reason)[]) => {
  const reasons = parts
    .filter(reason => reason !== '')
    .map(reason => (typeof reason === 'string' ? { text: reason } : reason))
  return { description: reasons.map(wordsOf).join(' '), reasons }
}
