/** English text of reading aloud, loaded with its button. */
import { translator } from '../../strings/t.ts'

export const t = translator({
  'speech.read': 'Read aloud',
  'speech.stop': 'Stop reading',
  'speech.code': 'Code block, not read.',
  'speech.link': 'link',
  'speech.failed': 'This browser couldn’t read it aloud. It may have no voice installed.',
} as const)
