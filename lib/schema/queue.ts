/** A message that waits: for the running turn to end, or, when it is meant to steer, for its next step. */
import { z } from 'zod'

export const Queued = z
  .object({
    id: z.string(),
    text: z.string(),
    attachments: z.array(z.string()),
    /** Seconds since 1970 when it was written. */
    at: z.number(),
    /** Read by the running turn before its next step; what it did not read is sent like the others. */
    steer: z.boolean().optional(),
  })
  .meta({ id: 'Queued' })
export type Queued = z.infer<typeof Queued>
