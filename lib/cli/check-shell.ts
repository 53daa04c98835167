/** Checks of the environment that commands of the agent run in: the directories in PATH and the shell init files. */
import { existsSync } from 'node:fs'
import { initFilePaths } from '../profiles/init-files.ts'
import { missingToolDirectories } from '../profiles/tool-directories.ts'
import { UserError } from '../errors.ts'
import { type Check, type CheckContext, ok, warn } from './check.ts'

const initFileChecks = async ({ home }: CheckContext): Promise<Check[]> => {
  const about = 'shell init files'
  const { terminal } = home.settings()
  const files = initFilePaths(terminal, home.env().HOME)
  const missing =
    terminal.shell_init_files.length > 0 ? files.filter(file => !existsSync(file)) : []
  const problem = await home.sourceInitFiles()
  const found = files.filter(file => existsSync(file))
  return [
    ...missing.map(file =>
      warn('init_file_missing', about, `${file} does not exist`, 'Fix terminal.shell_init_files.'),
    ),
    ...(problem === null
      ? []
      : [warn('init_file_fails', about, problem, 'Source it in a new bash to see why.')]),
    ...(problem === null && found.length > 0 ? [ok(about, found.join(', '))] : []),
  ]
}

export const shellChecks = async (looked: CheckContext): Promise<Check[]> => {
  const added = missingToolDirectories(looked.config.env)
  const said = added.length === 0 ? 'complete' : `commands also get ${added.join(', ')}`
  try {
    return [ok('PATH', said), ...(await initFileChecks(looked))]
  } catch (error) {
    // An unreadable configuration has a check of its own.
    if (error instanceof UserError) return [ok('PATH', said)]
    throw error
  }
}
