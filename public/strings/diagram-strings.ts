/** English text of drawn diagrams, loaded with the first one. */
import { translator } from './t.ts'

export const t = translator('diagram', {
  'code.rendering': 'Rendering diagram…',
  'code.diagram.label': 'Diagram',
})
