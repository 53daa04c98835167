/** English text of the outline. */
import { translator } from '../../strings/t.ts'

export const t = translator('outline', {
  title: 'Outline',
  filter: 'Go to a request or heading',
  list: 'Requests and headings',
  none: 'No matches',
  empty: 'No requests yet',
  loading: 'Loading earlier messages…',
  failed: 'Couldn’t load earlier messages.',
  retry: 'Retry',
  blank: 'Attached files',
})
