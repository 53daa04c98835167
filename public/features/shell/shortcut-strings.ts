/** English text of the shortcuts that only their sheet names. */
import { type PlainKey, translator } from '../../strings/t.ts'

const english = {
  'keys.general': 'General',
  'keys.chat': 'Chat',
  'keys.list': 'Sidebar',
  'keys.palette': 'Command palette',
  'keys.new': 'New chat',
  'keys.settings': 'Settings',
  'keys.changes': 'Review changes',
  'keys.terminal': 'Show or hide the terminal',
  'keys.file': 'Go to file',
  'keys.sheet': 'Show shortcuts',
  'keys.focus': 'Focus message input',
  'keys.previous': 'Previous message',
  'keys.next': 'Next message',
  'keys.recall': 'Recall earlier messages',
  'keys.commands': 'Commands',
  'keys.mention': 'Mention a file',
  'keys.move': 'Move through the list',
  'keys.nth': 'Open one of the first nine chats',
  'keys.rename': 'Rename',
  'keys.delete': 'Delete',
} as const

export const t = translator('shell.shortcut', english)

export type ShortcutKey = keyof typeof english | Extract<PlainKey, `keys.${string}`>
