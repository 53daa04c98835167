/** An import of chats from another program: where they come from, its progress, and the report. */
import { z } from 'zod'

/** `agent-webui`: our own export, which is that of Hermes WebUI as well. */
const ImportSource = z.enum(['chatgpt', 'claude', 'librechat', 'open-webui', 'agent-webui'])
export type ImportSource = z.infer<typeof ImportSource>

/** What of an export is not in the imported chats. */
export const LeftOutCode = z.enum([
  'hidden',
  'instructions',
  'memory',
  'file_missing',
  'file_too_large',
  'file_not_stored',
  'part_unknown',
  'project_unnamed',
  'project_not_allowed',
  'project_files',
  'custom_assistant',
  'tags',
  'rating',
])
export type LeftOutCode = z.infer<typeof LeftOutCode>

/** Why a chat, or a part of the file, was set aside. */
export const ImportProblemCode = z.enum([
  'unreadable',
  'too_large',
  'too_deep',
  'cut',
  'damaged',
  'other_format',
  'no_messages',
])
export type ImportProblemCode = z.infer<typeof ImportProblemCode>

/** `kept`: it was continued or changed here, so a newer version of it in the export was not taken over. */
export const ImportResult = z.enum(['new', 'updated', 'unchanged', 'kept'])
export type ImportResult = z.infer<typeof ImportResult>

const Count = z.int().min(0)

export const ImportReport = z
  .object({
    /** Null until the first chat was recognized. */
    source: ImportSource.nullable(),
    /** How many chats had each result. */
    counts: z.record(ImportResult, Count),
    files: Count,
    /** Messages that were versions of others or of their answers, and are so here. */
    versions: Count,
    /** The first ones that are new, updated, or kept. */
    chats: z.array(z.object({ session_id: z.string(), title: z.string(), result: ImportResult })),
    left_out: z.array(
      z.object({
        code: LeftOutCode,
        count: Count,
        /** The first few, each once. */
        names: z.array(z.string()),
      }),
    ),
    problem_count: Count,
    /** The first ones: a title, or a place in the file. */
    problems: z.array(z.object({ name: z.string(), code: ImportProblemCode })),
  })
  .meta({ id: 'ImportReport' })
export type ImportReport = z.infer<typeof ImportReport>

export const ImportState = z
  .object({
    /** `interrupted`: the service ended meanwhile. What was imported is complete; importing the file again adds the rest. */
    status: z.enum(['none', 'running', 'done', 'failed', 'interrupted']),
    file: z.string(),
    profile: z.string(),
    /** Seconds since 1970. */
    started_at: z.number(),
    bytes: z.number(),
    bytes_total: z.number(),
    report: ImportReport.nullable(),
    /** Why it failed. */
    error: z.string(),
    code: z.string().optional(),
  })
  .meta({ id: 'ImportState' })
export type ImportState = z.infer<typeof ImportState>

/** imports.json of the state directory. */
export const ImportsFile = z.object({
  version: z.literal(1).default(1),
  /** By the id of the person; empty: the owner. */
  people: z.record(z.string(), ImportState).default({}),
})
