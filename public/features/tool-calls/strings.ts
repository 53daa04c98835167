/** English text of opened tool calls. */
import { translator } from '../../strings/t.ts'
import { enTranscript } from '../../strings/transcript-strings.ts'
import { enSteps } from './step-strings.ts'

export const t = translator(
  'tool-calls',
  {
    ...enTranscript,
    ...enSteps,

    'output.last': {
      one: '{count} line',
      other: '{count} lines, showing the last {shown}',
    },
    'output.whole': { one: '{count} line', other: '{count} lines' },
    'output.exit': 'Exit {code}',
    'output.all': 'Show all',
    'output.less': 'Show less',
    'output.earlier': { one: 'Show {count} earlier line', other: 'Show {count} earlier lines' },
    'output.stored': 'Load the full output',
    'output.stored.gone': 'The full output is no longer stored.',
    'output.find': 'Search the output',
    'output.found': { one: '{count} matching line', other: '{count} matching lines' },
    'output.found.first': 'First {shown} of {count} matching lines',
    'output.found.none': 'No matching lines',

    'code.label': 'Content of the file',

    'field.items': { one: '{count} entry', other: '{count} entries' },
    'field.yes': 'Yes',
    'field.no': 'No',
    'field.none': 'None',

    'note.background': 'Runs in the background as {id}.',
    'note.cwd': 'The next command starts in {cwd}.',
    'note.calls': {
      one: 'The script called {count} tool.',
      other: 'The script called {count} tools.',
    },
    'note.created': 'Created {names}',
    'note.deleted': 'Deleted {names}',
    'note.folder': 'Created the folder for it',
    'note.folders': 'Created the folders {names}',
    'note.instructions': 'The agent also read the project’s instructions for this folder.',
    'note.memory': 'Memory used: {usage}',
    'note.nothing': 'No results',
    'note.plan.approved': 'Plan approved',
    'note.plan.kept': 'Plan mode stays on',
    'note.process.ended': 'Ended',
    'note.process.exited': 'Ended with exit code {code}',
    'note.process.running': 'Still running',
    'note.process.sent': { one: 'Sent {count} character', other: 'Sent {count} characters' },
    'note.process.wait': 'Still running when the wait ended',
    'note.processes.none': 'No background processes',
    'note.read': {
      one: 'The file has {count} line, {size}',
      other: 'The file has {count} lines, {size}',
    },
    'note.search.count': { one: '{count} match', other: '{count} matches' },
    'note.search.more': 'There are more matches than shown.',
    'note.search.partial': 'The search stopped early, so there may be more matches.',
    'note.todo.none': 'The to-do list is empty.',
    'note.tools.more': 'Also matching: {names}',
    'note.unsaved': 'Includes unsaved changes from the editor',
    'note.untitled': 'Untitled chat',
    'note.wrote': 'Wrote {size}',
  },
  'tool-calls.step',
  'messages',
)
