/** A directory the agent may work in, as a profile's list keeps it. */
import { z } from 'zod'

/** `name` is what clients and the file on disk know; `label` is the specification's word for the same. */
export const Workspace = z
  .object({ path: z.string(), name: z.string(), label: z.string() })
  .meta({ id: 'Workspace' })
export type Workspace = z.infer<typeof Workspace>

export const FileEntry = z
  .object({
    name: z.string(),
    /** Relative to the workspace, with forward slashes. */
    path: z.string(),
    type: z.enum(['dir', 'file']),
    /** Bytes; null for directories and for links that lead nowhere or outside. */
    size: z.number().nullable(),
  })
  .meta({ id: 'FileEntry' })
export type FileEntry = z.infer<typeof FileEntry>
