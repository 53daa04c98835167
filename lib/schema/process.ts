/** A background process of a session. */
import { z } from 'zod'

export const Process = z
  .object({
    process_id: z.string(),
    command: z.string(),
    cwd: z.string(),
    pid: z.number(),
    status: z.enum(['running', 'exited']),
    exit_code: z.number().nullable(),
    /** Seconds. */
    uptime: z.number(),
    started_at: z.number(),
  })
  .meta({ id: 'Process' })
export type Process = z.infer<typeof Process>
