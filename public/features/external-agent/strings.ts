/** English text of external agents, loaded with their chip. */
import { translator } from '../../strings/t.ts'

const enAgent = {
  chip: '{name}: modes and options',
  open: 'Start {name} to see its modes and options',
  opening: 'Starting…',
  mode: 'Mode',
  search: 'Find a mode or option',
  nothing: 'No options available for {name}.',
  earlier: 'Earlier chats',
  past: 'Continue a chat of {name}…',
  'past.head': 'Chats of {name} in this workspace',
  'past.search': 'Find a chat',
  'past.none': 'No matching chats',
  here: 'Already open',
  signIn: 'Sign in to {name}',
  'signIn.own': '{name} isn’t signed in. Sign in with its own program on the server.',
  'signIn.copied': 'Command copied. Run it in a terminal on the server, then come back to {name}.',
} as const

export const t = translator('external-agent', enAgent)
