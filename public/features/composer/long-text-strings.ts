/** English text of the line about a long text, loaded with it. */
import { translator } from '../../strings/t.ts'

export const t = translator('composer.long-text', {
  'attach.pasted': '{count} characters pasted',
  'attach.pasted.file': 'Attach as file',
  'attach.pasted.keep': 'Keep as text',
  'attach.pasted.attached': '{count} characters attached as a file',
  'attach.pasted.insert': 'Put into the message',
  'attach.long':
    'This message is too long to sync as a draft ({count} characters). It is kept in this browser.',
})
