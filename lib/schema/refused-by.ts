/** Who decided that a call of the agent does not run. */
import { z } from 'zod'

/**
 * `user`: a person. `timeout`: no one answered in time. `policy`: a setting, where no one can be asked. `hook`, `rule`, `plan`:
 * a hook or a rule of the user, or plan mode. `checks`: the service, which no approval can change.
 */
export const RefusedBy = z.enum(['user', 'timeout', 'policy', 'hook', 'rule', 'plan', 'checks'])
export type RefusedBy = z.output<typeof RefusedBy>
