/** English text of the pickers, loaded with them. */
import { translator } from '../../strings/t.ts'

export const t = translator('composer.picker', {
  'chip.model.search': 'Search, or type a model’s id',
  'chip.model.recent': 'Recent',
  'chip.model.empty': 'No models configured',
  'chip.workspace.search': 'Search, or type a path',
  'chip.workspace.saved': 'Recent',
  'chip.workspace.add': 'Use {path}',
  'folder.title': 'Choose a folder',
  'folder.places': 'Places',
  'folder.up': 'Folder above',
  'folder.repository': 'Git',
  'folder.use': 'Use this folder',
  'model.all': 'All models',
  'model.use': 'Use “{id}”',
  'model.connect': 'Connect a model…',
  'model.size': '{size} context',
})
