/** English text of the pickers, loaded with them. */
import { translator } from '../../strings/t.ts'

export const t = translator('composer.picker', {
  'chip.model.search': 'Search models',
  'chip.model.recent': 'Recent',
  'chip.model.empty': 'No models configured',
  'chip.workspace.search': 'Search or enter a path',
  'chip.workspace.saved': 'Saved',
  'chip.workspace.suggested': 'Suggested',
  'chip.workspace.add': 'Use {path}',
  'model.size': '{size} context',
})
