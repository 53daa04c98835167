/** English text of dictation; loaded with its button. */
import { translator } from '../../strings/t.ts'

export const t = translator('composer.dictate', {
  'dictate.start': 'Dictate',
  'dictate.stop': 'Stop dictating',
  'dictate.busy': 'Transcribing…',
  'dictate.denied': 'Microphone access is blocked',
  'dictate.nothing': 'No speech detected',
})
