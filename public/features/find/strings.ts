/** The English catalogue of finding within a conversation; it comes with its bar. */
import { translator } from '../../strings/t.ts'

export const enFind = {
  label: 'Find in this conversation',
  count: '{at} of {total}',
  none: 'Not found',
  searching: 'Searching…',
  part: 'Couldn’t load earlier messages',
  again: 'Try again',
  previous: 'Previous match',
  next: 'Next match',
  close: 'Close',
} as const

export const tn = translator(enFind)
