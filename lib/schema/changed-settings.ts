/** Settings of config.yaml that loosen what the agent may do, changed by something else than a person in the page. */
import { z } from 'zod'

export const ChangedSettings = z.object({
  profile: z.string(),
  file: z.string(),
  /** Identifies the changes when they are accepted or undone. */
  change_id: z.string(),
  changes: z.array(
    z.object({
      key: z.string(),
      /** The values as JSON without secrets; null: not there. */
      accepted: z.string().nullable(),
      now: z.string().nullable(),
    }),
  ),
})
export type ChangedSettings = z.output<typeof ChangedSettings>
