/** The Git tools of the chat, only inside its workspace panel. */
import { useWorkspacePanel } from './context.ts'
import type { GitActions } from '../git/git-actions.ts'

export const useGitActions = (): GitActions => useWorkspacePanel().git
