/** Projects group sessions of all profiles. */
import { z } from 'zod'

export const PROJECT_COLOR = /^#[0-9a-fA-F]{3,8}$/
export const PROJECT_NAME_CHARS = 128

export const Project = z
  .looseObject({
    project_id: z.string(),
    name: z.string(),
    color: z.string().nullable(),
    /** Seconds since 1970. */
    created_at: z.number(),
  })
  .meta({ id: 'Project' })
export type Project = z.infer<typeof Project>
