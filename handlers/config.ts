/** Problems in configuration files, and the safeguards that are neither supported nor accepted. */
import { z } from 'zod'
import { endpoint } from '../lib/context.ts'
import { UserError } from '../lib/errors.ts'
import { ChangedSettings } from '../lib/schema/changed-settings.ts'
import { FileProblem } from '../lib/schema/file-problem.ts'
import { unreadKeys } from '../lib/profiles/unread-keys.ts'
import { Guard } from '../lib/schema/guard.ts'

export const problems = endpoint({
  access: 'own',
  summary:
    'Files that cannot be read, unsupported safeguards that were not accepted, settings that wait to be accepted, and those without effect',
  output: z.object({
    problems: z.array(FileProblem),
    guards: z.array(Guard),
    /** Settings that wait to be accepted; null: none. */
    changed: ChangedSettings.nullable(),
    /** What config.yaml says and nobody does. `why`: null for a key that nothing here knows. */
    ignored: z.array(z.object({ key: z.string(), why: z.string().nullable() })),
  }),
  run: ({ app, home }) => ({
    problems: app.fileProblems.list(),
    guards: guardsOf(() => app.guards.list(home)),
    changed: app.settingChanges.of(home),
    ignored: [
      ...home.configProblems().map(({ key, reason }) => ({ key, why: reason })),
      ...unreadKeys(home.peek()),
    ],
  }),
})

/** Empty while the home cannot be read: its problems are already reported, and block more. */
const guardsOf = (list: () => Guard[]): Guard[] => {
  try {
    return list().filter(({ accepted }) => !accepted)
  } catch (error) {
    if (error instanceof UserError) return []
    throw error
  }
}
