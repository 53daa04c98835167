/** English text of working without a network: messages that wait, shared content, new versions. */
import { translator } from '../../strings/t.ts'

export const t = translator('offline', {
  'outbox.label': {
    one: '{count} message waiting to be sent',
    other: '{count} messages waiting to be sent',
  },
  'outbox.note': 'Not sent yet. Sends when you’re back online.',
  'outbox.held': 'Not sent: {reason}',
  'outbox.edit': 'Edit message',
  'outbox.edit.open': 'First resend or cancel the message that you are editing.',
  'outbox.remove': 'Remove message',

  'copy.age': 'Showing a copy from {ago}.',

  'version.new': 'A new version is ready',
  'version.reload': 'Reload',

  'shared.title': 'Add shared files?',
  'shared.text': {
    one: '{count} file was shared with this app: {names}. It will be uploaded and attached to your message. Nothing is sent until you send it.',
    other:
      '{count} files were shared with this app: {names}. They will be uploaded and attached to your message. Nothing is sent until you send it.',
  },
  'shared.add': 'Add files',
  'shared.missing': 'Couldn’t read what was shared. Share it again.',
})
