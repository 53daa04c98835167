/** Which folders are workspaces, before anything of a profile is opened. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { namesIn } from '../base/directories.ts'
import { readText } from '../store/read-text.ts'

type Roots = { stateDir: string; baseHome: string; defaultWorkspace: string | null }

/** The default one, one in the list of any profile, or the top of a repository. `path`: a real one. */
export const isKnownWorkspace = (
  { stateDir, baseHome, defaultWorkspace }: Roots,
  path: string,
): boolean => {
  if (path === defaultWorkspace || existsSync(join(path, '.git'))) return true
  const profiles = join(baseHome, 'profiles')
  const dirs = [stateDir, ...namesIn(profiles).map(name => join(profiles, name, 'webui_state'))]
  const quoted = JSON.stringify(path)
  return dirs.some(dir => readText(join(dir, 'workspaces.json')).text?.includes(quoted))
}
