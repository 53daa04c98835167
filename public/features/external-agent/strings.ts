/** English text of external agents, loaded with their chip. */
import { translator } from '../../strings/t.ts'

const enAgent = {
  chip: '{name}: modes and options',
  open: 'Start {name} to see its modes and options',
  opening: 'Starting…',
  mode: 'Mode',
  search: 'Find a mode or option',
  nothing: 'No options available for {name}.',
  earlier: 'Earlier sessions',
  past: 'Resume a {name} session…',
  'past.head': '{name} sessions in this workspace',
  'past.search': 'Find a session',
  'past.none': 'No matching sessions',
  here: 'Already open',
  signIn: 'Sign in to {name}',
  'signIn.own': '{name} isn’t signed in. Sign in with its own program on the server.',
  'signIn.copied': 'Command copied. Run it in a terminal on the server, then come back to {name}.',
} as const

export const t = translator('external-agent', enAgent)
