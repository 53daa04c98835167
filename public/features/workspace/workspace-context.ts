/** How views outside the panel reach the workspaces and the state of the panel. */
import { featureContext } from '../../parts/feature-context.ts'
import type { Panel } from './panel.ts'
import type { Workspaces } from './workspaces.ts'

export type WorkspaceFeature = { panel: Panel; workspaces: Workspaces }

export const { Provider: WorkspaceProvider, use: useWorkspace } =
  featureContext<WorkspaceFeature>('Workspace')
