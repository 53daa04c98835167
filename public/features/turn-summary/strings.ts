/** English text of the summary of a turn, loaded with the first one. */
import { translator } from '../../strings/t.ts'

export const t = translator('turn-summary', {
  label: 'Summary of this answer',
  files: { one: '{count} file changed', other: '{count} files changed' },
  review: 'Review',
  'review.label': 'Review the changes of this answer',
  kept: 'Files stay as the earlier answer left them.',
  undo: 'Undo',
  'undo.label': 'Undo the changes of this answer',
  redo: 'Redo',
  'redo.label': 'Redo the changes of this answer',
  'undone.all': 'Undone',
  'undone.some': 'Partly undone',
  open: 'Show the changes in {path}',
  'file.undo': 'Undo the changes in {path}',
  'file.redo': 'Redo the changes in {path}',
  'file.undone': 'undone',
  'files.more': { one: 'and {count} more file', other: 'and {count} more files' },
  'files.label': 'Changed files',
  uncounted: 'binary',
  added: 'Created',
  modified: 'Changed',
  deleted: 'Deleted',
  renamed: 'Renamed from {path}',
  interrupted: 'The server stopped during this answer.',
} as const)
