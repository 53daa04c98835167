/** Safeguards in a shared home that this server does not support. */
import { z } from 'zod'
import { ChangedSettings } from './changed-settings.ts'

/** What can be blocked while a safeguard is not supported. */
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
  /** Its value, without secrets. */
  value: z.string(),
  /** Identifies the value when it is accepted. */
  value_id: z.string(),
  why: z.string(),
  /** Empty: nothing is blocked; the setting only has no effect. */
  closes: z.array(z.enum(BLOCKED_BY_GUARD)),
  accepted: z.boolean(),
})
export type Guard = z.output<typeof Guard>

export const GuardsOut = z.object({
  profile: z.string(),
  guards: z.array(Guard),
  /** Null: nothing waits to be accepted. */
  changed: ChangedSettings.nullable(),
})
