/** English text of changes by turn and of background processes, loaded with the panel. */
import { enPanel } from './strings.ts'
import { translator } from '../../strings/t.ts'

const enTurnChanges = {
  turns: 'By answer',
  'turns.failed': 'Couldn’t load changes by answer.',
  files: { one: '{count} file', other: '{count} files' },
  'files.more': { one: 'and {count} more file', other: 'and {count} more files' },
  untitled: 'Untitled',
  'undo.of': 'Undo of “{title}”',
  interrupted: 'The server stopped during this answer.',
  undo: 'Undo changes',
  redo: 'Redo',
  'undo.file': 'Restore {path}',
  'ask.title': 'Undo these changes?',
  'ask.redo.title': 'Redo these changes?',
  'ask.text': {
    one: '{count} file will be restored to its state before “{title}”. You can undo this.',
    other: '{count} files will be restored to their state before “{title}”. You can undo this.',
  },
  'ask.yes': 'Undo changes',
  'ask.redo.yes': 'Redo',
  'ask.file.title': 'Restore {path}?',
  'ask.file.text': 'The file will be restored to its state before this answer. You can undo this.',
  'ask.file.yes': 'Restore',
  'conflict.title': 'Overwrite newer changes?',
  'conflict.text': 'This would overwrite newer changes in {paths}.',
  'conflict.more': { one: '{count} more', other: '{count} more' },
  'conflict.loading': 'Comparing…',
  'conflict.none': 'No differences to show: the file is binary, too large, or unknown.',
  'conflict.failed': 'Couldn’t load the differences.',
  'conflict.yes': 'Overwrite',
  'conflict.part': 'These lines of {path} have changed since. Nothing was undone.',
  'conflict.show': 'Show file',
  'said.part': 'Undid this part',
  'said.restored': { one: 'Restored {count} file', other: 'Restored {count} files' },
  'said.same': 'Nothing to restore',
  'said.back': 'Undo',
  'said.none': 'No such change',

  programs: 'Background processes',
  'programs.running': '{count} running',
  'programs.none': 'none running',
  'program.log': 'Output of {command}',
  'program.stop': 'Stop {command}',
  'program.stop.short': 'Stop',
  'program.running': 'Running since {when}',
  'program.ended': 'Exited with code {code}',
  'program.failed': 'Couldn’t load output.',
  'program.quiet': 'No output yet',
} as const

export const t = translator('workspace.turn-changes', { ...enPanel, ...enTurnChanges }, 'workspace')
