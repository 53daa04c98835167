/** English text of the diagnostics after an edit, loaded with it. */
import { translator } from '../../strings/t.ts'

export const t = translator('tool-calls.edit-diagnostics', {
  'diagnostics.list': 'New problems',
  'diagnostics.error': 'Error',
  'diagnostics.warning': 'Warning',
})
