/** English text of the import of a chat; loaded with it. */
import { translator } from '../../strings/t.ts'

export const t = translator('sessions.import', {
  'import.done': 'Imported “{title}”',
  'import.failed': '{name} isn’t a chat exported as JSON.',
  'import.others': 'Import from other programs',
})
