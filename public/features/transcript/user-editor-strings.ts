/** English text of the editor of an earlier message, loaded with it. */
import { translator } from '../../strings/t.ts'

export const t = translator('transcript.user-editor', {
  'edit.label': 'Edit message',
  'edit.note': 'The earlier version and its answers are kept. Files stay as they are now.',
  'edit.command': 'Save as command',
  'edit.send': 'Resend',
  'edit.attached': '{count} characters attached as a file',
  'edit.remove': 'Remove {name}',
})
