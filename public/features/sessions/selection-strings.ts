/** English text of the selection bar, loaded with it. */
import { enEditing } from '../../strings/editing-strings.ts'
import { translator } from '../../strings/t.ts'

export const t = translator(
  'sessions.selection',
  {
    ...enEditing,
    'selection.label': 'Selected chats',
    'selection.count': { one: '{count} selected', other: '{count} selected' },
    'selection.clear': 'Clear selection',
    'selection.move': 'Move to project',
    'selection.move.out': 'No project',
    'selection.more': 'More actions',
    'selection.export': 'Export as Markdown',
    'selection.tags': 'Tags',
    'selection.tags.edit': 'Edit tags…',
    'selection.tags.title': { one: 'Tags of {count} chat', other: 'Tags of {count} chats' },
    'selection.tags.new': 'New tags',
    'selection.tags.hint': 'One or more words. A tag is a #word in the title.',
    'selection.tags.bad': 'Tags consist of letters, digits, hyphens, and underscores.',
    'selection.tagged': {
      one: 'Changed the tags of {count} chat',
      other: 'Changed the tags of {count} chats',
    },
    'selection.untagged': {
      one: 'The title of {count} chat is too long for the tags',
      other: 'The titles of {count} chats are too long for the tags',
    },
    'selection.archived': { one: 'Archived {count} chat', other: 'Archived {count} chats' },
    'selection.moved': { one: 'Moved {count} chat', other: 'Moved {count} chats' },
    'selection.deleted': { one: 'Deleted {count} chat', other: 'Deleted {count} chats' },
  } as const,
  'editing',
)
