/** Texts of links to files. */
import { translator } from '../../strings/t.ts'

export const t = translator('references', {
  'ref.file': 'Open {path}',
  'ref.folder': 'Show {path} in Files',
})
