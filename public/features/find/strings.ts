/** English text of the find bar. */
import { translator } from '../../strings/t.ts'

export const t = translator('find', {
  label: 'Find in this chat',
  count: '{at} of {total}',
  'count.cut': '{at} of more than {total}',
  none: 'No matches',
  searching: 'Searching…',
  incomplete: 'Couldn’t load earlier messages.',
  retry: 'Retry',
  previous: 'Previous match',
  next: 'Next match',
  close: 'Close',
})
