/** Guards of a shared home that this service does not keep. */
import { z } from 'zod'

/** What is refused while a guard is not kept. */
export const BLOCKED_BY_GUARD = [
  'commands',
  'writes',
  'scripts',
  'tools',
  'memory',
  'skills',
  'instructions',
] as const

export const Guard = z.object({
  /** A key of config.yaml, or a variable. */
  key: z.string(),
  file: z.string(),
  /** What stands there, without secrets. */
  value: z.string(),
  /** Stands for the value where it is accepted. */
  value_id: z.string(),
  why: z.string(),
  /** Empty: nothing is refused because of it; it only is not as the file says. */
  closes: z.array(z.enum(BLOCKED_BY_GUARD)),
  accepted: z.boolean(),
})
export type Guard = z.output<typeof Guard>

export const GuardsOut = z.object({ profile: z.string(), guards: z.array(Guard) })
