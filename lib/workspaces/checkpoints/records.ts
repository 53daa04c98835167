/** Record formats of checkpoints: the changes of a turn, and the versions of each file before and after. */
import { z } from 'zod'

/** One version of a file. `id` is git's blob id of its bytes (for a symlink, of its target path). */
const Version = z.object({
  kind: z.enum(['file', 'link']),
  /** Permission bits. */
  perm: z.number(),
  id: z.string(),
})
export type Version = z.infer<typeof Version>

/** Null: the file does not exist. */
export type Versions = Map<string, Version | null>

const FileChange = z.object({
  /** Relative to the workspace, or absolute for a file outside it. */
  path: z.string(),
  before: Version.nullable(),
  after: Version.nullable(),
  /** Lines; null where they cannot be counted: binary files, or changed permissions only. */
  added: z.number().nullable(),
  removed: z.number().nullable(),
})
export type FileChange = z.infer<typeof FileChange>

const RecordHeader = z.object({
  /** The turn's stream id; an undo has an id of its own. */
  id: z.string().regex(/^[0-9a-f]{16,64}$/),
  session_id: z.string(),
  /** The user message the turn answered. */
  message_id: z.string().nullable(),
  title: z.string(),
  workspace: z.string(),
  /** Seconds since 1970. */
  at: z.number(),
  undo_of: z.string().nullable(),
})

const StepRecord = z.object({
  /** Ids of the tool calls; more than one when they ran at the same time. */
  calls: z.array(z.string()),
  /** When they had ended, in seconds since 1970. */
  at: z.number(),
  /** The files they changed, as they left them; a null version: deleted. Null: what they changed is not recorded. */
  files: z.array(z.tuple([z.string(), Version.nullable()])).nullable(),
})
export type StepRecord = z.infer<typeof StepRecord>

export const TurnRecord = RecordHeader.extend({
  ended_at: z.number(),
  changes: z.array(FileChange),
  folders_made: z.array(z.string()),
  folders_gone: z.array(z.string()),
  /** Sentences about what could not be recorded. */
  notes: z.array(z.string()),
  /** The process was killed while the turn was running. */
  interrupted: z.boolean(),
  /** Only hunks of its one file were restored; absent: whole files. */
  is_partial: z.boolean().optional(),
  /** In order, those calls that changed files. Absent in older records and for external agents. */
  steps: z.array(StepRecord).optional(),
})
export type TurnRecord = z.infer<typeof TurnRecord>

/** The state before a running turn, so that its record can be completed after a kill. */
export const OpenRecord = RecordHeader.extend({
  /** Files that the file tools wrote and the snapshot does not cover, with the version before the first write. */
  touched: z.array(z.tuple([z.string(), Version.nullable()])),
  /** Folders that did not exist when a file in them was about to be written. */
  absent: z.array(z.string()),
  /** The whole workspace before the first command: the id of a `Snapshot` in the store. */
  snapshot: z.string().nullable(),
  notes: z.array(z.string()),
  steps: z.array(StepRecord).optional(),
})
export type OpenRecord = z.infer<typeof OpenRecord>

/** The files of a workspace at a moment. */
export type Snapshot = {
  files: Map<string, Version>
  folders: Set<string>
  /** Files that are not stored: too large (size and time, so that a change is at least noticed) or unreadable (blank). */
  skipped: Map<string, string>
  /** Build folders were skipped. */
  withoutBuildFolders: boolean
}

export const sameVersion = (a: Version | null, b: Version | null): boolean =>
  a === b || (a !== null && b !== null && a.kind === b.kind && a.id === b.id && a.perm === b.perm)
