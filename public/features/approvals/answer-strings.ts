/** English text of answers that were given. */
import { translator } from '../../strings/t.ts'

export const t = translator('approvals.answer', {
  'chat.answered': 'Already answered: {answer}',
  'ask.was.once': 'Allowed once',
  'ask.was.session': 'Allowed for this chat',
  'ask.was.always': 'Always allowed',
  'ask.was.deny': 'Denied',
  'ask.was.timeout': 'No answer in time',
  'ask.was.withdrawn': 'No longer needed',
  'ask.was.ended': 'It ended before an answer',
})
