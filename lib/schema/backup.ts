/** Backups that the page asks for: the folder, the last result, and the files. */
import { z } from 'zod'
import { Sentences } from './sentence.ts'

export const BackupSettings = z
  .object({
    /** Absolute path of the directory; empty: none was chosen yet. */
    dir: z.string().max(4_000),
  })
  .meta({ id: 'BackupSettings' })
export type BackupSettings = z.infer<typeof BackupSettings>

export const BackupResult = z
  .object({
    /** Seconds since 1970. */
    at: z.number(),
    ok: z.boolean(),
    /** Name of the file; null after a failure. */
    name: z.string().nullable(),
    /** Why it failed; empty for none. */
    error: z.string(),
    /** Of the error, for the page's own text. */
    code: z.string().optional(),
    values: z
      .record(z.string(), z.union([z.string(), z.number()]))
      .optional()
      .catch(undefined),
    sentences: Sentences.optional(),
    /** How many files could not be saved, or changed while they were read. */
    problems: z.number(),
  })
  .meta({ id: 'BackupResult' })
export type BackupResult = z.infer<typeof BackupResult>

export const BackupState = z
  .object({
    settings: BackupSettings,
    running: z.boolean(),
    last: BackupResult.nullable(),
    /** An earlier version made backups on a schedule, which this one does not. Choosing a folder clears it. */
    was_scheduled: z.boolean(),
    /** Keys are saved as well, because the server has a passphrase for them. */
    has_keys: z.boolean(),
    /** Newest first. */
    files: z.array(z.object({ name: z.string(), size: z.number(), at: z.number() })),
    /** A directory outside of what is saved, for the field that is still empty. */
    suggested_dir: z.string(),
  })
  .meta({ id: 'BackupState' })
export type BackupState = z.infer<typeof BackupState>
