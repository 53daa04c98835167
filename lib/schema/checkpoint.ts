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

/** A tool call of a turn, or calls that ran at the same time, that changed files. */
export const CheckpointStep = z
  .object({
    calls: z.array(z.string()),
    at: z.number(),
    /** At most 100 paths. Null: what they changed is not recorded. */
    files: z.array(z.string()).nullable(),
  })
  .meta({ id: 'CheckpointStep' })
export type CheckpointStep = z.infer<typeof CheckpointStep>

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
    /** In order. Absent where steps are not recorded: older turns and external agents. */
    steps: z.array(CheckpointStep).optional(),
    /** There are more files than these. */
    truncated: z.boolean(),
    file_count: z.number(),
    added: z.number(),
    removed: z.number(),
  })
  .meta({ id: 'Checkpoint' })
export type Checkpoint = z.infer<typeof Checkpoint>

export const CheckpointDiff = z
  .object({
    path: z.string(),
    diff: z.string(),
    binary: z.boolean(),
    truncated: z.boolean(),
    /** Header lines of the parts that are undone now. */
    undone: z.array(z.string()),
  })
  .meta({ id: 'CheckpointDiff' })

/**
 * A file at an earlier point in comparison with now: `same`, `changed`, `gone` (deleted since), `later` (it did not exist yet),
 * or `unknown`: the version is not recorded, and the file has changed since.
 */
export const PastFileState = z.enum(['same', 'changed', 'gone', 'later', 'unknown'])
export type PastFileState = z.infer<typeof PastFileState>

export const PastFile = z
  .object({
    path: z.string(),
    state: PastFileState,
    /** Null: binary, too large, unknown, or the file did not exist. */
    text: z.string().nullable(),
    /** From then to now. */
    diff: z.string(),
    binary: z.boolean(),
    /** Too large to show or to compare. */
    truncated: z.boolean(),
  })
  .meta({ id: 'PastFile' })
export type PastFile = z.infer<typeof PastFile>

export const PastFiles = z
  .object({
    at: z.number(),
    files: z.array(z.object({ path: z.string(), state: PastFileState })),
    /** There are more, or the workspace is too large to list, so that only recorded files are. */
    truncated: z.boolean(),
    /** What could not be recorded in the turn. */
    notes: z.array(z.string()),
  })
  .meta({ id: 'PastFiles' })

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
