/** A profile: exactly these nine fields. */
import { z } from 'zod'

export const Profile = z
  .strictObject({
    /** `default` is the base home. */
    name: z.string(),
    path: z.string(),
    is_default: z.boolean(),
    /** The profile of the request. */
    is_active: z.boolean(),
    gateway_running: z.boolean(),
    model: z.string().nullable(),
    provider: z.string().nullable(),
    has_env: z.boolean(),
    skill_count: z.number(),
  })
  .meta({ id: 'Profile' })
export type Profile = z.infer<typeof Profile>
