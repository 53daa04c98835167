/** English text of comments on diffs, loaded with the first diff or comment. */
import { translator } from '../../strings/t.ts'

export const t = translator('review', {
  line: 'Line {from}',
  lines: 'Lines {from}–{to}',
  'removed.line': 'Removed line {from}',
  'removed.lines': 'Removed lines {from}–{to}',
  comment: 'Comment',
  'comment.label': 'Comment on lines {from} to {to}',
  undo: 'Undo',
  'undo.label': 'Undo lines {from} to {to}',
  undone: 'Undone',
  'form.label': 'Comment for the agent',
  placeholder: 'What should the agent know or change here?',
  from: 'From line',
  to: 'To line',
  add: 'Add comment',
  added: 'Added to your next message',
  cancel: 'Cancel',
  full: 'A message can have up to 50 comments.',
  chips: {
    one: '{count} comment for the next message',
    other: '{count} comments for the next message',
  },
  edit: 'Edit comment on {place}',
  remove: 'Remove comment on {place}',
  sent: 'Comments',
  open: 'Open {place}',
} as const)

type Lines = { removed: boolean; from: number; to: number }

/** `Lines 3–5`. Numbers of lines have no separators. */
export const linesText = ({ removed, from, to }: Lines): string => {
  const values = { from: `${from}`, to: `${to}` }
  if (from === to) return removed ? t('removed.line', values) : t('line', values)
  return removed ? t('removed.lines', values) : t('lines', values)
}
