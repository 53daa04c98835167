/** The English catalogue of other programs' agents; it comes with their chip. */
import { translator } from '../../strings/t.ts'

export const enAgent = {
  chip: '{name}: modes and options',
  open: 'Start {name} to see its modes and options',
  opening: 'Starting…',
  mode: 'Mode',
  search: 'Find a mode or an option',
  nothing: '{name} has no options to choose from.',
  earlier: 'Earlier sessions',
  past: 'Continue a {name} session…',
  'past.head': '{name} sessions in this workspace',
  'past.search': 'Find a session',
  'past.loading': 'Loading…',
  'past.none': 'No matching sessions.',
  here: 'Already open here',
} as const

export const ta = translator(enAgent)
