/** English text of the modes; loaded with their chip. */
import { translator } from '../../strings/t.ts'

export const t = translator('composer.mode', {
  mode: 'Mode: {mode}',
  ask: 'Ask',
  'ask.hint': 'Asks before anything risky.',
  plan: 'Plan',
  'plan.hint': 'Reads, and changes nothing until you approve its plan.',
  auto: 'Auto',
  'auto.hint': 'Runs everything without asking; blocked commands stay blocked.',
})
