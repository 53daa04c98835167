/** Checkpoints: the file changes of turns. */
import { z } from 'zod'

export const CheckpointFile = z
  .object({
    /** Relative to the workspace, or absolute for a file outside of it. */
    path: z.string(),
    old_path: z.string().optional(),
    status: z.enum(['added', 'modified', 'deleted', 'renamed', 'typechange']),
    /** Lines; null when they cannot be counted. */
    added: z.number().nullable(),
    removed: z.number().nullable(),
  })
  .meta({ id: 'CheckpointFile' })
export type CheckpointFile = z.infer<typeof CheckpointFile>

export const Checkpoint = z
  .object({
    checkpoint: z.string(),
    session_id: z.string(),
    /** The user message of the turn; null when it is unknown. */
    message_id: z.string().nullable(),
    title: z.string(),
    workspace: z.string(),
    at: z.number(),
    ended_at: z.number(),
    /** The checkpoint that this one restored. */
    undo_of: z.string().nullable(),
    /** The server was stopped during the turn. */
    interrupted: z.boolean(),
    /** Only parts (hunks) of its one file were restored. */
    is_partial: z.boolean().optional(),
    /** What could not be recorded. */
    notes: z.array(z.string()),
    files: z.array(CheckpointFile),
    /** There are more files than these. */
    truncated: z.boolean(),
    file_count: z.number(),
    added: z.number(),
    removed: z.number(),
  })
  .meta({ id: 'Checkpoint' })
export type Checkpoint = z.infer<typeof Checkpoint>

export const CheckpointDiff = z
  .object({ path: z.string(), diff: z.string(), binary: z.boolean(), truncated: z.boolean() })
  .meta({ id: 'CheckpointDiff' })

export const Restored = z
  .object({
    ok: z.boolean(),
    restored: z.array(z.string()),
    unchanged: z.array(z.string()),
    failed: z.array(z.object({ path: z.string(), error: z.string() })),
    /** The checkpoint that undoes this restore; null when nothing was changed. */
    checkpoint: z.string().nullable(),
    error: z.string().optional(),
  })
  .meta({ id: 'Restored' })
