/** English text of the images of a tool result, loaded with it. */
import { translator } from '../../strings/t.ts'
import { enTranscript } from '../../strings/transcript-strings.ts'

export const t = translator(
  'tool-calls.tool-images',
  { ...enTranscript, 'tool.images': 'Images of the result' },
  'messages',
)
