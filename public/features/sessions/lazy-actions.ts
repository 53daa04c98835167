/** The actions of a session's menu, loaded when one is first called. */
import { lateActions } from '../../parts/late-actions.ts'
import type { SessionActions, SessionActionsOptions } from './actions.ts'

export const createLazyActions = (options: SessionActionsOptions): SessionActions =>
  lateActions<SessionActions>(
    [
      'branch',
      'duplicate',
      'archive',
      'remove',
      'confirmDeletePermanently',
      'confirmClear',
      'exportAs',
      'importFile',
    ],
    async () => (await import('./actions.ts')).createSessionActions(options),
    options.shell.attempt,
  )
