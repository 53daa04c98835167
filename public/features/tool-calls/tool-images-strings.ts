/** English text of the images of a tool result, loaded with it. */
import { translator } from '../../strings/t.ts'

export const t = translator({ 'tool.images': 'Images of the result' })
