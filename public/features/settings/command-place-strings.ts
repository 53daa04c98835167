/** English text about where commands run, loaded with it. */
import { translator } from '../../strings/t.ts'

const enCommandPlace = {
  'place.title': 'Where commands run',
  'place.computer': 'Directly on this computer, with your rights.',
  'place.sandbox': 'In a sandbox. Commands can change the workspace and nothing else.',
  'place.container':
    'In a {engine} container with the image {image}. Commands can change the workspace and nothing else here.',
  'place.container.unknown': 'In a {engine} container.',
  'place.container.download': 'The image isn’t here yet; the first command downloads it.',
  'place.container.network': 'They have network access.',
  'place.container.offline': 'They have no network access.',
  'place.problem': 'No command can run. {problem}',
  'place.sandbox.label': 'Sandbox',
  'place.sandbox.hint':
    'A command sees the workspace and the programs of the system, not your files. Unknown programs run without approval.',
  'place.sandbox.auto': 'Wherever it works',
  'place.sandbox.on': 'Always',
  'place.sandbox.never': 'Never',
  'place.sandbox.auto.hint':
    'Where it works when the service starts, every command runs in it; elsewhere commands run directly on this computer.',
  'place.sandbox.on.hint': 'Where it doesn’t work, commands are refused.',
  'place.sandbox.unavailable': 'The sandbox can’t be used while commands run in a container.',
  'place.sandbox.off.title': 'Turn the sandbox off?',
  'place.sandbox.off.text':
    'Commands will run directly on this computer, with your rights, from the next message on.',
  'place.sandbox.off': 'Turn off',
  'place.outside.label': 'Ask before',
  'place.outside.changes': 'Every command that can change something',
  'place.outside.dangerous': 'Dangerous commands only',
  'place.outside.changes.hint':
    'Commands that only read the workspace run unasked. Others wait for you, and you can allow one for good.',
  'place.outside.dangerous.hint':
    'As in the command line. A command that runs can do anything you can do.',
  'place.network.label': 'Network in the sandbox',
  'place.network.off': 'A command that wants to reach a new host asks and waits.',
  'place.network.on': 'Every command has the network, services on this computer included.',
  'place.network.list': 'Without asking: {patterns}. Other hosts ask.',
  'place.network.replace.title': 'Give every command the network?',
  'place.network.replace.text': 'This replaces the list in config.yaml: {patterns}.',
  'place.network.replace': 'Replace the list',
  'place.applies': 'A change applies from the next message on. It’s saved in {source}.',
} as const

export const t = translator('settings.command-place', enCommandPlace)
