/** Where the agent works when neither session nor profile says. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { realPath } from '../store/path-within.ts'
import { isProtectedPath } from '../store/state-files.ts'
import { realDirectory, usableWorkspace } from './workspace-paths.ts'

/** Where a default may be. */
type WorkspaceConfig = { stateDir: string; userHome: string; defaultWorkspace: string | null }

/** The path without links; undefined where new chats cannot begin there. */
export const usableForNewChats = (
  path: string,
  { stateDir, userHome }: { stateDir: string; userHome: string },
): string | undefined => {
  const folder = usableWorkspace(path, userHome)
  return folder !== undefined && !isProtectedPath(realPath(stateDir), folder) ? folder : undefined
}

/** The service's own folder, for chats when nobody chose one. */
export const scratchFolder = (stateDir: string): string => {
  const own = join(stateDir, 'workspace')
  return realDirectory(own) ?? own
}

/** The first usable of: the environment's, the saved one, ~/workspace, ~/work; else a folder of our own, made when needed. */
export const resolveDefaultWorkspace = (
  config: WorkspaceConfig,
  saved: string | undefined,
): string => {
  const { defaultWorkspace, userHome, stateDir } = config
  const candidates = [defaultWorkspace, saved, join(userHome, 'workspace'), join(userHome, 'work')]
  for (const path of candidates) {
    const folder = path ? usableForNewChats(path, config) : undefined
    if (folder) return folder
  }
  mkdirSync(join(stateDir, 'workspace'), { recursive: true, mode: 0o700 })
  return scratchFolder(stateDir)
}
