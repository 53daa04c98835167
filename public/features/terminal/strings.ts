/** English text of the terminal, loaded with it. */
import { translator } from '../../strings/t.ts'

const enTerminal = {
  'terminal.list': 'Terminals',
  'terminal.name': '{shell} {number}',
  'terminal.ended': '{name}, exited with code {code}',
  'terminal.bell': '{name}, needs attention',
  'terminal.new': 'New terminal',
  'terminal.hide': 'Hide terminal',
  'terminal.resize': 'Resize terminal',
  'terminal.close': 'Close {name}',
  'terminal.close.title': 'Close this terminal?',
  'terminal.close.text': 'Programs running in it will be stopped.',
  'terminal.close.programs': 'This stops what runs in it: {names}.',
  'terminal.close.run': 'Close terminal',
  'terminal.copy': 'Copy selection',
  'terminal.quote': 'Add selection to message',
  'terminal.screen': 'Terminal. Press Shift+Escape to leave it.',
  'terminal.none': 'No terminal open',
  'terminal.none.text':
    'A terminal is your own shell in this folder, shared by all chats that work here. It runs on the server, outside the agent’s sandbox.',
  'terminal.unavailable': 'No terminal available',
  'terminal.opening': 'Opening a terminal…',
  'terminal.failed': 'Couldn’t load the terminals.',
  'terminal.exited': 'Exited with code {code}.',
  'terminal.gone': 'This terminal no longer exists.',
  'terminal.waiting': 'Disconnected. Reconnecting…',
  'terminal.keys': 'Special keys',
  'terminal.key.left': 'Left',
  'terminal.key.up': 'Up',
  'terminal.key.down': 'Down',
  'terminal.key.right': 'Right',
} as const

export const t = translator('terminal', enTerminal)
