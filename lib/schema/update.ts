/** Updates of agent-webui and of the host agent: results of checks and of applying one. */
import { z } from 'zod'

export const UpdateState = z
  .object({
    name: z.string(),
    /** Number of commits that the checkout is behind. */
    behind: z.number(),
    current_sha: z.string().optional(),
    latest_sha: z.string().optional(),
    /** The remote branch, for example `origin/main`. */
    branch: z.string().optional(),
    error: z.string().optional(),
    /** What changed since the installed version: new entries of the change log, else the titles of the commits. */
    changes: z.string().optional(),
  })
  .meta({ id: 'UpdateState' })
export type UpdateState = z.infer<typeof UpdateState>

export const UpdateCheck = z
  .object({
    disabled: z.literal(true).optional(),
    /** Null: not a git checkout, or not installed. */
    webui: UpdateState.nullable().optional(),
    agent: UpdateState.nullable().optional(),
    checked_at: z.number().optional(),
  })
  .meta({ id: 'UpdateCheck' })
export type UpdateCheck = z.infer<typeof UpdateCheck>

export const UpdateTarget = z.enum(['webui', 'agent'])
export type UpdateTarget = z.infer<typeof UpdateTarget>

/** For failures, `error` equals `message`; the flags say what the person can do. */
export const UpdateResult = z
  .object({
    ok: z.boolean(),
    message: z.string(),
    error: z.string().optional(),
    /** Of the result or the error, for the page's own text. */
    code: z.string().optional(),
    values: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
    target: UpdateTarget.optional(),
    restart_scheduled: z.boolean().optional(),
    /** A merge is in progress. */
    conflict: z.literal(true).optional(),
    /** The checkout has local commits. */
    diverged: z.literal(true).optional(),
    /** The update was applied, but the local changes are still stashed. */
    stash_conflict: z.literal(true).optional(),
  })
  .meta({ id: 'UpdateResult' })
export type UpdateResult = z.infer<typeof UpdateResult>
