/** Files of a home or of the server that cannot be read. */
import { z } from 'zod'
import type { Words } from '../base/sentences.ts'
import { Sentences } from './sentence.ts'

export const FileProblem = z.object({
  /** Null for files of the server. */
  profile: z.string().nullable(),
  file: z.string(),
  /** What is wrong, with the line when it is known. */
  reason: z.string(),
  sentences: Sentences.optional(),
  /** The last readable version is still used. Otherwise everything that depends on the file is rejected. */
  in_force: z.boolean(),
})
export type FileProblem = z.output<typeof FileProblem>

/** As the file itself reports it. */
export type UnreadableFile = { file: string; in_force: boolean; reason: Words }
