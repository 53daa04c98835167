/** The Git tools of the page, created with the Changes tab. */
import { lazyState } from '../../parts/lazy-state.ts'
import { useApp } from '../shell/context.ts'
import { useWorkspacePanel } from '../workspace/context.ts'
import { createGitActions, type GitActions } from './git-actions.ts'

const actionsOf = lazyState(app =>
  createGitActions({
    platform: app.platform,
    toasts: app.toasts,
    ask: question => {
      app.layout.confirmation.value = question
    },
    changes: app.panel.contents.value!.changes,
    chooseWorkspace: path => app.chooseWorkspace(path),
  }),
)

/** Only inside the workspace panel. */
export const useGitActions = (): GitActions => {
  useWorkspacePanel()
  return actionsOf(useApp())
}
