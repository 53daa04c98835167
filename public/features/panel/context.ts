/** The context of the workspace panel's state. */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { WorkspacePanel } from './workspace-panel.ts'

export const WorkspacePanelContext = createContext<WorkspacePanel | null>(null)

export const useWorkspacePanel = (): WorkspacePanel => {
  const panel = useContext(WorkspacePanelContext)
  if (!panel) throw new Error('a part of the panel was drawn outside it')
  return panel
}
