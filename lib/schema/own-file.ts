/** Commands and subagents of the user: Markdown files of the home, as the page lists and edits them. */
import { z } from 'zod'
import { Sentences } from './sentence.ts'

export const OwnFileKind = z.enum(['command', 'subagent'])
export type OwnFileKind = z.infer<typeof OwnFileKind>

/** Why a file has no effect, or not the whole one: no text, the name of a built-in command, a name that is taken, too many files, front matter that cannot be read. */
export const OwnFileProblem = z.enum(['empty', 'reserved', 'duplicate', 'too_many', 'front_matter'])
export type OwnFileProblem = z.infer<typeof OwnFileProblem>

export const OwnFileRow = z
  .object({
    kind: OwnFileKind,
    /** Identifies the file: its path below the directory without the ending, `:` between directories. */
    name: z.string(),
    /** What is typed after the slash, or the name of the subagent. */
    called: z.string(),
    /** The key, else the first line of the text. */
    description: z.string(),
    argument_hint: z.string(),
    /** Names as in the file; null: all tools. */
    tools: z.array(z.string()).nullable(),
    /** As in the file; empty when absent. */
    model: z.string(),
    /** Absolute path. */
    file: z.string(),
    /** A symlink to a file elsewhere. */
    read_only: z.boolean(),
    problem: OwnFileProblem.nullable(),
  })
  .meta({ id: 'OwnFileRow' })
export type OwnFileRow = z.infer<typeof OwnFileRow>

export const OwnFile = z
  .object({
    ...OwnFileRow.shape,
    /** The key alone; empty when absent. */
    description: z.string(),
    /** The text after the front matter, without blank lines around it. */
    text: z.string(),
    /** The whole file. */
    content: z.string(),
    /** Keys that have no effect here. They are kept. */
    other_keys: z.array(z.string()),
    /** Why the front matter cannot be read; then only the whole content can be edited. */
    front_matter_problem: z.string().nullable(),
    sentences: Sentences.optional(),
    /** Changes with the content. */
    version: z.string(),
  })
  .meta({ id: 'OwnFile' })
export type OwnFile = z.infer<typeof OwnFile>

/** Keys that are set; an absent key stays as it is, an empty one is removed. */
export const OwnFileFields = z.strictObject({
  /** Only of a subagent: a command is named by its file. */
  name: z.string().max(64).optional(),
  description: z.string().max(1_024).optional(),
  argument_hint: z.string().max(200).optional(),
  /** Null: all tools. */
  tools: z.array(z.string().max(200)).max(200).nullable().optional(),
  model: z.string().max(300).optional(),
})
export type OwnFileFields = z.infer<typeof OwnFileFields>
