/** English text of the project dialogs; loaded with them. */
import { translator } from '../../strings/t.ts'

export const t = translator('projects', {
  'projects.edit.title': 'Edit project',
  'projects.name': 'Name',
  'projects.color': 'Color',
  'projects.color.none': 'None',
  'projects.color.own': 'Custom color',
  'projects.color.slate': 'Gray',
  'projects.color.red': 'Red',
  'projects.color.orange': 'Orange',
  'projects.color.yellow': 'Yellow',
  'projects.color.green': 'Green',
  'projects.color.teal': 'Teal',
  'projects.color.blue': 'Blue',
  'projects.color.purple': 'Purple',
  'projects.save': 'Save',
  'projects.create': 'Create project',
  'projects.move.title': 'Move “{title}”',
  'projects.move.search': 'Search projects',
  'projects.move.none': 'No project',
})
