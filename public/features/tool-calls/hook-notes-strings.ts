/** English text of what hooks did, loaded with it. */
import { translator } from '../../strings/t.ts'

export const t = translator('tool-calls.hook-notes', {
  'hooks.notes': 'Hooks',
  'hooks.blocked': 'Blocked by a hook',
  'hooks.changed': 'Changed by a hook',
  'hooks.asked': 'A hook asked for approval',
  'hooks.allowed': 'Allowed by a hook',
  'hooks.added': 'A hook added',
  'hooks.continued': 'A hook made the agent continue',
  'hooks.failed': 'A hook failed',
})
