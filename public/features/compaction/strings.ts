/** The English catalogue of the context window and of summaries; it comes with the first look at either. */
import { translator } from '../../strings/t.ts'

const enCompaction = {
  label: 'Context {percent}% full',
  title: 'Context window',
  used: 'Used',
  threshold: 'Summarized at',
  of: '{used} of {total} tokens',
  turn: 'Last turn',
  session: 'This conversation',
  cost: 'Cost',
  tokens: '{in} in · {out} out',
  compact: 'Compact',
  'compact.text': 'Earlier messages are summarized for the model. You keep all of them.',

  divider: 'Earlier conversation summarized',
  'divider.note': 'The model reads this instead of the messages above.',
  undo: 'Undo',
  loading: 'Loading…',
  failed: 'Couldn’t load the summary.',

  busy: 'Wait for the running turn to end, then compact.',
  working: 'Summarizing the earlier conversation…',
  stop: 'Stop',
  stopped: 'Stopped. Nothing has changed.',
  done: '{before} → {after} messages for the model. You keep all of them.',
  undone: 'The model reads the original messages again.',
} as const

export const tc = translator(enCompaction)
