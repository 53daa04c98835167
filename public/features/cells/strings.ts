/** English text of the list of cells. */
import { translator } from '../../strings/t.ts'

export const t = translator('cells', {
  'cells.head': 'Agents',
  'cells.on': 'Ready',
  'cells.off': 'Starts when you open it',
  /** Turns. */
  'cells.running': 'Running: {count}',
  /** Questions and approvals. */
  'cells.waiting': 'Waiting for you: {count}',
  /** Such as "5 minutes ago". */
  'cells.active': 'Last activity {when}',
  'cells.stale': 'Couldn’t refresh this list.',
  'cells.since': 'Waiting for {time}',
  'cells.signin': 'Sign in there to see what it does',
  /** What is shown may be old. */
  'cells.unreachable': 'Not up to date: {reason}',
})
