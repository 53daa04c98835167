/** English text of differences, loaded with the first one. */
import { translator } from '../strings/t.ts'

export const t = translator('diff', {
  'tool.diff': 'Changes',
  'tool.diff.counts': '{added} added, {removed} removed',
})
