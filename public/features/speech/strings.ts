/** English text of reading aloud and hands-free mode, loaded with their buttons. */
import { translator } from '../../strings/t.ts'

export const t = translator({
  'speech.read': 'Read aloud',
  'speech.stop': 'Stop reading',
  'speech.code': 'Code block, not read.',
  'speech.formula': 'Formula',
  'speech.link': 'link',
  'speech.failed': 'Couldn’t read this aloud. Your browser may have no voice installed.',
  'speech.auto': 'Read answers aloud',
  'speech.auto.hint': 'Reads each answer when it’s finished. Applies to this device only.',
  'hands.start': 'Start hands-free mode',
  'hands.stop': 'Stop hands-free mode',
  'hands.end': 'Stop',
  'hands.listening': 'Listening…',
  'hands.sending': 'Sending…',
  'hands.working': 'Working on it…',
  'hands.reading': 'Reading the answer…',
  'hands.asked': 'Answer the question in the chat to continue.',
  'hands.blocked': 'Microphone access is blocked',
  'hands.silence': 'Hands-free mode ended because no one spoke.',
} as const)
