/** English text of the attached files, loaded with it. */
import { translator } from '../../strings/t.ts'

export const t = translator('composer.attachment-list', {
  attached: 'Attached files',
  remove: 'Remove {name}',
  failed: 'Couldn’t attach {name}: {reason}',
  retry: 'Retry {name}',
})
