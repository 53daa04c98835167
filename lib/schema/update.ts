/** Updates of the service and of the agent: what a check found, and how applying one ended. */
import { z } from 'zod'

export const UpdateState = z
  .object({
    name: z.string(),
    /** Commits the checkout lacks. */
    behind: z.number(),
    current_sha: z.string().optional(),
    latest_sha: z.string().optional(),
    /** What it is compared with, for example `origin/main`. */
    branch: z.string().optional(),
    error: z.string().optional(),
  })
  .meta({ id: 'UpdateState' })
export type UpdateState = z.infer<typeof UpdateState>

export const UpdateCheck = z
  .object({
    disabled: z.literal(true).optional(),
    /** Null: not a git checkout, or not there. */
    webui: UpdateState.nullable().optional(),
    agent: UpdateState.nullable().optional(),
    checked_at: z.number().optional(),
  })
  .meta({ id: 'UpdateCheck' })
export type UpdateCheck = z.infer<typeof UpdateCheck>

export const UpdateTarget = z.enum(['webui', 'agent'])
export type UpdateTarget = z.infer<typeof UpdateTarget>

/** Of a failure, `error` says the same as `message`; the flags say what a person can do about it. */
export const UpdateResult = z
  .object({
    ok: z.boolean(),
    message: z.string(),
    error: z.string().optional(),
    target: UpdateTarget.optional(),
    restart_scheduled: z.boolean().optional(),
    /** Files are in the middle of a merge. */
    conflict: z.literal(true).optional(),
    /** The checkout has commits of its own. */
    diverged: z.literal(true).optional(),
    /** The update is there, the local changes are still set aside. */
    stash_conflict: z.literal(true).optional(),
  })
  .meta({ id: 'UpdateResult' })
export type UpdateResult = z.infer<typeof UpdateResult>
