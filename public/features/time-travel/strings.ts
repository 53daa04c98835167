/** English text of time travel: the files at an earlier step. */
import { translator } from '../../strings/t.ts'

export const t = translator({
  'step.files': 'Files after this step',
  'turn.before': 'Files before',
  'turn.after': 'Files after',
  'files.label': 'Files at an earlier step',
  'at.before': 'Before this response',
  'at.after': 'After this response',
  'at.step': 'After change {n} of {count}',
  earlier: 'Earlier',
  later: 'Later',
  now: 'Back to now',
  loading: 'Loading files…',
  failed: 'Couldn’t load the files of this step.',
  'file.failed': 'Couldn’t load this file.',
  retry: 'Retry',
  none: 'Nothing was recorded for this response',
  'none.text':
    'Files are recorded when a response changes them. This one changed none, is too old, or is still running.',
  'whole.text':
    'Single steps of this response weren’t recorded, only the files before and after it.',
  truncated: 'Not all files are listed.',
  empty: 'There were no files.',
  'state.same': 'As it is now',
  'state.changed': 'Changed since',
  'state.gone': 'Deleted since',
  'state.later': 'Didn’t exist yet',
  'state.unknown': 'Unknown: it changed later, and this version wasn’t recorded',
  view: 'What to show',
  contents: 'Contents',
  compare: 'Compared with now',
  'same.text': 'This file is the same now.',
  'later.text': 'This file didn’t exist yet.',
  'unknown.text':
    'This file has changed since, and the version of this step wasn’t recorded, so its contents aren’t known.',
  binary: 'This file isn’t text.',
  large: 'This file is too large to show.',
  close: 'Close {name}',
} as const)
