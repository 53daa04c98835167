/** Files of a home, or of the service, that are damaged. */
import { z } from 'zod'

export const FileProblem = z.object({
  /** Null for a file of the service itself. */
  profile: z.string().nullable(),
  file: z.string(),
  /** The line, where one is known, and what is wrong. */
  reason: z.string(),
  /** The last version that could be read is still used. Otherwise what depends on the file is refused. */
  in_force: z.boolean(),
})
export type FileProblem = z.output<typeof FileProblem>
