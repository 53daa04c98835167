/** English text of what is done to projects, loaded with it. */
import { translator } from '../../strings/t.ts'

export const t = translator('projects.action', {
  'projects.delete.title': 'Delete project “{name}”?',
  'projects.delete.text': 'Chats in this project are kept.',
  'projects.moved': 'Moved to {name}',
  'projects.moved.out': 'Removed from project',
})
