/** A token of a program that uses the client API, without its secret. */
import { z } from 'zod'

export const ApiToken = z
  .object({
    id: z.string(),
    name: z.string(),
    /** Seconds since 1970. */
    created_at: z.number(),
    /** To the minute; null: never. */
    last_used_at: z.number().nullable(),
    profile: z.string(),
    /** Absolute path; empty: the profile's last workspace. */
    workspace: z.string(),
    /** What needs approval is asked on the page, or denied. */
    approvals: z.enum(['ask', 'deny']),
    /** Whether a turn ends when the program closes its connection. */
    disconnect: z.enum(['stop', 'continue']),
  })
  .meta({ id: 'ApiToken' })
export type ApiToken = z.infer<typeof ApiToken>
