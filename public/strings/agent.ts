/** The English catalogue of other programs' agents; it comes with their chip. */
import { translator } from './t.ts'

export const enAgent = {
  chip: '{name}: modes and options',
  open: 'Start {name} to see its modes and options',
  opening: 'Starting…',
  mode: 'Mode',
  search: 'Find a mode or an option',
  nothing: '{name} offers nothing to choose here.',
  earlier: 'Earlier sessions',
  past: 'Continue a session of {name}…',
  'past.head': 'Sessions of {name} in this workspace',
  'past.search': 'Find a session',
  'past.loading': 'Asking…',
  'past.none': 'No session of that name.',
  here: 'Open here already',
} as const

export const ta = translator(enAgent)
