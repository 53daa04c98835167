/** Files that no tool treats as ordinary ones: keys and logins of the user, and what decides about the agent. */
import { relative, sep } from 'node:path'
import { isInside, realPath } from '../../store/path-within.ts'
import { findHardLink } from '../hard-links.ts'

/** In the home directory: keys and logins. */
const CREDENTIALS =
  /^(?:\.ssh|\.gnupg|\.aws|\.azure|\.kube|\.docker|\.config\/gh|\.config\/gcloud)(?:\/|$)|^(?:\.netrc|\.pgpass|\.npmrc|\.pypirc|\.git-credentials)$/

/** Whether a real path is a file with keys or logins in this home directory. */
export const isCredential = (home: string, fullPath: string): boolean => {
  const root = home === '' ? '' : realPath(home)
  return root !== '' && CREDENTIALS.test(relative(root, fullPath))
}

/** Files that other programs obey without being started by the user: those of a repository (a folder with a HEAD is one), of editors, and of shells. */
const RUN_BY_OTHERS =
  /(?:^|\/)\.git(?:$|\/)|^(?:\.vscode|\.idea|\.zed|\.devcontainer|\.envrc|\.mcp\.json|\.claude|\.cursor|\.gemini|\.codex|HEAD)(?:$|\/)/

/** `path` is relative to the workspace. */
export const isRunByOthers = (path: string): boolean => RUN_BY_OTHERS.test(path)

type Controlled = { controlPaths?: readonly string[] | undefined }

/** Whether the path is a control file, under any of its names. */
export const isControlled = ({ controlPaths = [] }: Controlled, fullPath: string): boolean =>
  controlPaths.some(path => controls(path, fullPath)) ||
  findHardLink(controlPaths, fullPath) !== undefined

const controls = (path: string, fullPath: string): boolean => {
  const [root = '', name] = path.split('/**/')
  return name === undefined
    ? isInside(path, fullPath)
    : isInside(root, fullPath) && fullPath.split(sep).includes(name)
}
