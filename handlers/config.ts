/** What is wrong with the files a person or another program writes, and what is refused because of it. */
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import { UserError } from '../lib/errors.ts'
import { FileProblem } from '../lib/schema/file-problem.ts'
import { Guard } from '../lib/schema/guard.ts'

export const problems = endpoint({
  summary: 'Files that cannot be read, and guards that are not kept and were not accepted',
  output: z.object({ problems: z.array(FileProblem), guards: z.array(Guard) }),
  run: ({ app, home }) => ({
    problems: app.fileProblems.list(),
    guards: guardsOf(() => app.guards.list(home)),
  }),
})

/** None while the home cannot be read: that is said above, and refuses more. */
const guardsOf = (list: () => Guard[]): Guard[] => {
  try {
    return list().filter(({ accepted }) => !accepted)
  } catch (error) {
    if (error instanceof UserError) return []
    throw error
  }
}
