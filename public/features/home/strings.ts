/** English text below the composer of an empty chat. */
import { translator } from '../../strings/t.ts'

export const t = translator('home', {
  waiting: { one: '{count} question waits for you', other: '{count} questions wait for you' },
  'recent.head': 'Recent',
  'recent.failed': 'Failed',
  'recent.interrupted': 'Interrupted',
  'commands.sandbox': 'Commands run in a sandbox: they can change this folder and nothing else.',
  'commands.container': 'Commands run in a container.',
  'commands.changes':
    'Commands run directly on this computer. Those that can change something ask first.',
  'commands.dangerous':
    'Commands run directly on this computer, with your rights. Only dangerous ones ask first.',
  'commands.choose': 'Change what asks',
  'suggest.head': 'Suggestions',
  'suggest.resume': 'Continue “{title}”',
  'suggest.resume.hint': 'Its last answer didn’t finish',
  'suggest.changes': 'Review my changes',
  'suggest.changes.hint': { one: '{count} uncommitted file', other: '{count} uncommitted files' },
  'suggest.changes.prompt':
    'Review my uncommitted changes. Point out bugs and risks first, then smaller things. Don’t change anything yet.',
  'suggest.todos': 'Work through the TODOs',
  'suggest.todos.hint': { one: '{count} TODO or FIXME', other: '{count} TODOs and FIXMEs' },
  'suggest.todos.prompt':
    'List the TODO and FIXME comments of this project by importance, and suggest which one to do first.',
  'suggest.tests': 'Run the tests',
  'suggest.tests.prompt': 'Run `{command}`. If something fails, find the cause and fix it.',
  'suggest.explain': 'Explain this project',
  'suggest.explain.hint': 'Starting with its README',
  'suggest.explain.prompt':
    'Explain this project: what it does, how it is organized, and where to start reading.',
  'suggest.readme': 'Write a README',
  'suggest.readme.hint': 'There is none yet',
  'suggest.readme.prompt': 'Read this project and write a short README.md for it.',
  'suggest.start': 'Start something new',
  'suggest.start.hint': 'This folder is empty',
  'suggest.start.prompt': 'Set up a new project in this folder. Ask me what it should be.',
})
