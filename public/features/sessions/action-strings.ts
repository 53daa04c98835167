/** English text of what is done to a session, loaded with it. */
import { translator } from '../../strings/t.ts'

export const t = translator('sessions.action', {
  'row.deleted': 'Deleted “{title}”',
  'row.archived': 'Archived “{title}”',
  'delete.permanent.title': 'Delete permanently?',
  'delete.permanent.text':
    '“{title}” and all its messages will be permanently deleted. This can’t be undone.',
  'delete.permanent.confirm': 'Delete permanently',
  'clear.title': 'Clear all messages?',
  'clear.text':
    'The agent no longer reads them. They stay on disk until you delete them permanently.',
  'clear.done': 'Messages cleared',
  'clear.purge': 'Delete permanently',
  'clear.confirm': 'Clear messages',
})
