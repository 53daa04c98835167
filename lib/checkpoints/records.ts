/** What is written down of a turn's changes, and how one file stood before and after. */
import { z } from 'zod'

/** One file at one moment. `id` is git's name of its bytes (of a symlink: of the path it holds). */
const Version = z.object({
  kind: z.enum(['file', 'link']),
  /** Permission bits. */
  perm: z.number(),
  id: z.string(),
  /** Where the bytes are: in the repository, or as a plain copy beside it. */
  store: z.enum(['git', 'plain']),
})
export type Version = z.infer<typeof Version>

const Change = z.object({
  /** Relative to the workspace, or absolute for a file outside of it. */
  path: z.string(),
  before: Version.nullable(),
  after: Version.nullable(),
  /** Lines; null where they cannot be counted: binary, or permissions alone. */
  added: z.number().nullable(),
  removed: z.number().nullable(),
})
export type Change = z.infer<typeof Change>

const RecordHeader = z.object({
  /** The turn's stream, or of an undo a name of its own. */
  id: z.string().regex(/^[0-9a-f]{16,64}$/),
  session_id: z.string(),
  /** The person's message the turn answered. */
  message_id: z.string().nullable(),
  title: z.string(),
  workspace: z.string(),
  /** Seconds since 1970. */
  at: z.number(),
  undo_of: z.string().nullable(),
})
export type RecordHeader = z.infer<typeof RecordHeader>

export const TurnRecord = RecordHeader.extend({
  ended_at: z.number(),
  changes: z.array(Change),
  folders_made: z.array(z.string()),
  folders_gone: z.array(z.string()),
  /** What could not be recorded, as sentences. */
  notes: z.array(z.string()),
  /** The service was ended in the middle of it. */
  interrupted: z.boolean(),
})
export type TurnRecord = z.infer<typeof TurnRecord>

/** Of a turn that runs: what there was before, so that a killed service can still close it. */
export const OpenRecord = RecordHeader.extend({
  /** How touched files stood before the first touch. */
  touched: z.array(z.tuple([z.string(), Version.nullable()])),
  /** Folders that were not there when a file in them was about to be written. */
  absent: z.array(z.string()),
  /** The whole workspace before the first command: a tree, and what a tree does not say. */
  scan: z
    .object({
      tree: z.string(),
      /** Permissions other than 644 and 755. */
      perms: z.record(z.string(), z.number()),
      folders: z.array(z.string()),
      large: z.record(z.string(), z.string()),
      without_products: z.boolean(),
    })
    .nullable(),
  notes: z.array(z.string()),
})
export type OpenRecord = z.infer<typeof OpenRecord>

export const sameVersion = (a: Version | null, b: Version | null): boolean =>
  a === b || (a !== null && b !== null && a.kind === b.kind && a.id === b.id && a.perm === b.perm)
