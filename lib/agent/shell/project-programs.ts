/**
 * Programs in the workspace that a bare name runs, because PATH names a directory of the project: `venv/bin`,
 * `node_modules/.bin`. The agent can write there, so a name alone does not say what runs.
 */
import { statSync } from 'node:fs'
import { dirname, join } from 'node:path/posix'
import { isProgramDirectory, isProjectPath } from './local-programs.ts'
import { absolute } from './paths.ts'
import { type Shell, variableOf } from './state.ts'
import { hasUnknown } from './syntax.ts'
import type { SimpleCommand } from './types.ts'

const isFile = (path: string): boolean => {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() === true
  } catch {
    // Not accessible, so it cannot run either.
    return false
  }
}

type Place = Pick<Shell, 'cwd' | 'context' | 'files'>

/** The file in the project that PATH selects for a name; null if it is another one, or not known. */
const searched = (name: string, searchPath: string, place: Place): string | null => {
  for (const dir of searchPath.split(':')) {
    if (hasUnknown(dir) || dir === '') continue
    const full = absolute(join(dir, name), place.cwd, place.context)
    if (full === null || !(isFile(full) || place.files.has(full))) continue
    return isProjectPath(dir, place) ? full : null
  }
  return null
}

/** The file that the command runs when it is one in a directory for the programs of the project, else null. */
export const projectProgram = (
  { path, assigns, cwd }: SimpleCommand,
  shell: Shell,
): string | null => {
  if (path === '' || hasUnknown(path)) return null
  const place: Place = { cwd, context: shell.context, files: shell.files }
  if (path.includes('/')) {
    const full = absolute(path, cwd, shell.context)
    if (full === null || !isProgramDirectory(full)) return null
    return isProjectPath(dirname(full), place) ? full : null
  }
  const own = assigns.findLast(([name]) => name === 'PATH')?.[1]
  const values = own === undefined ? variableOf('PATH', shell) : [own]
  for (const value of values ?? []) {
    const found = searched(path, value, place)
    if (found !== null) return found
  }
  return null
}
