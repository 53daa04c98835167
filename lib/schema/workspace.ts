/** Workspaces: directories that the agent may work in, and their files. */
import { z } from 'zod'

/** `name` and `label` are equal: clients and the file on disk use the first, the specification the second. */
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
    /** Bytes; null for directories, dangling links, and links out of the workspace. */
    size: z.number().nullable(),
  })
  .meta({ id: 'FileEntry' })
export type FileEntry = z.infer<typeof FileEntry>

/** An entry of the workspace that a text names. */
export const NamedEntry = z
  .object({
    /** As the text writes it. */
    asked: z.string(),
    /** Relative to the workspace; empty for the workspace itself. */
    path: z.string(),
    type: z.enum(['dir', 'file']),
  })
  .meta({ id: 'NamedEntry' })
export type NamedEntry = z.infer<typeof NamedEntry>

export const FoundFile = z
  .object({
    /** Relative to the workspace, with forward slashes. */
    path: z.string(),
    type: z.enum(['dir', 'file']),
    /** Offsets of the matched characters in `path`: start and end in turn. */
    ranges: z.array(z.number()),
  })
  .meta({ id: 'FoundFile' })
export type FoundFile = z.infer<typeof FoundFile>

/** Folders to choose from. */
export const FolderList = z
  .object({
    /** Empty: the places where one can begin. */
    path: z.string(),
    /** The folder above, `''` for the places where one can begin; null there. */
    parent: z.string().nullable(),
    folders: z.array(z.object({ path: z.string(), name: z.string(), is_repository: z.boolean() })),
  })
  .meta({ id: 'FolderList' })
export type FolderList = z.infer<typeof FolderList>
