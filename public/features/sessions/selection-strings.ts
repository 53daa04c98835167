/** English text of the selection bar, loaded with it. */
import { translator } from '../../strings/t.ts'

export const t = translator({
  'selection.label': 'Selected chats',
  'selection.count': { one: '{count} selected', other: '{count} selected' },
  'selection.clear': 'Clear selection',
  'selection.move': 'Move to project',
  'selection.move.out': 'No project',
  'selection.export': 'Export as Markdown',
  'selection.archived': { one: 'Archived {count} chat', other: 'Archived {count} chats' },
  'selection.moved': { one: 'Moved {count} chat', other: 'Moved {count} chats' },
  'selection.deleted': { one: 'Deleted {count} chat', other: 'Deleted {count} chats' },
} as const)
