/** English text of two chats side by side, loaded with them. */
import { translator } from '../../strings/t.ts'

export const t = translator('split', {
  'split.sides': 'Open chats',
  'split.unsaved': 'A file on this side has unsaved changes. Save or discard them first.',
} as const)
