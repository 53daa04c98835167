/** English text of the outline. */
import { translator } from '../../strings/t.ts'

export const t = translator('outline', {
  title: 'Outline',
  filter: 'Go to a message or heading',
  list: 'Messages and headings',
  none: 'No matches',
  empty: 'No messages yet',
  loading: 'Loading earlier messages…',
  failed: 'Couldn’t load earlier messages.',
  retry: 'Retry',
  blank: 'Attached files',
})
