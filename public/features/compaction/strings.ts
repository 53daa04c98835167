/** English text of the context window and of compaction. */
import { translator } from '../../strings/t.ts'

export const t = translator('compaction', {
  label: 'Context {percent}% full',
  title: 'Context window',
  used: 'Used',
  threshold: 'Auto-compacts at',
  of: '{used} of {total} tokens',
  turn: 'Last answer',
  session: 'This chat',
  cost: 'Cost',
  tokens: '{in} in · {out} out',
  'tokens.cached': '{in} in ({percent}% cached) · {out} out',
  compact: 'Compact',
  'compact.text': 'Summarizes earlier messages for the model. Your history stays intact.',

  divider: 'Context compacted',
  'divider.note': 'The model reads this summary instead of the messages above.',
  undo: 'Undo',
  loading: 'Loading…',
  failed: 'Couldn’t load the summary.',

  busy: 'Wait for the current answer to finish.',
  working: 'Compacting…',
  stop: 'Stop',
  stopped: 'Compaction canceled',
  done: 'Context compacted: {before} → {after} messages',
  undone: 'Compaction undone',
})
