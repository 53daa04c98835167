/** English sentences about what turns changed and what runs in the background; they come with the panel. */
import { translator } from '../../strings/t.ts'

export const enTurnChanges = {
  turns: 'By turn',
  'turns.failed': 'Couldn’t load the changes by turn.',
  'turns.none': 'No turn has changed a file yet',
  'turns.none.hint': 'What a turn changes appears here, and you can undo it.',
  files: { one: '{count} file', other: '{count} files' },
  'files.more': { one: 'and {count} more file', other: 'and {count} more files' },
  untitled: 'A turn',
  'undo.of': 'Undo of “{title}”',
  interrupted: 'The service stopped in the middle of this turn.',
  undo: 'Undo this turn’s changes',
  redo: 'Bring these changes back',
  'undo.file': 'Restore this file: {path}',
  'ask.title': 'Undo what this turn changed?',
  'ask.redo.title': 'Bring these changes back?',
  'ask.text': {
    one: '{count} file goes back to what it was before “{title}”. This can be undone again.',
    other: '{count} files go back to what they were before “{title}”. This can be undone again.',
  },
  'ask.yes': 'Undo changes',
  'ask.redo.yes': 'Bring back',
  'ask.file.title': 'Restore {path}?',
  'ask.file.text': 'It goes back to what it was before this turn. This can be undone again.',
  'ask.file.yes': 'Restore',
  'conflict.title': 'Changed since then',
  'conflict.text': 'These changed after this turn: {paths}. Restore them anyway?',
  'conflict.more': '{paths} and {count} more',
  'conflict.yes': 'Overwrite',
  'said.restored': { one: 'Restored {count} file', other: 'Restored {count} files' },
  'said.same': 'Nothing to restore',
  'said.back': 'Undo',
  'said.none': 'There is no such turn',

  programs: 'In the background',
  'programs.running': '{count} running',
  'programs.none': 'none running',
  'program.log': 'Output of {command}',
  'program.stop': 'Stop {command}',
  'program.stop.short': 'Stop',
  'program.running': 'Running since {when}',
  'program.ended': 'Ended with exit code {code}',
  'program.failed': 'Couldn’t read the output.',
  'program.quiet': 'No output yet.',
} as const

export const tc = translator(enTurnChanges)
