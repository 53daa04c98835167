/** Files of a home or of the server that cannot be read. */
import { z } from 'zod'

export const FileProblem = z.object({
  /** Null for files of the server. */
  profile: z.string().nullable(),
  file: z.string(),
  /** What is wrong, with the line when it is known. */
  reason: z.string(),
  /** The last readable version is still used. Otherwise everything that depends on the file is rejected. */
  in_force: z.boolean(),
})
export type FileProblem = z.output<typeof FileProblem>
