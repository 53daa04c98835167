/** Facts for the system prompt: machine, shell, workspace and its repository, as of the start of a session. */
import { existsSync } from 'node:fs'
import { arch, release, type as systemType } from 'node:os'
import { delimiter, join } from 'node:path'
import { hiddenGuard } from '../../agent/tools/allowed-paths.ts'
import { findThreat } from '../../base/prompt-injection.ts'
import { readText } from '../../store/read-text.ts'
import { realPath } from '../../store/path-within.ts'
import type { ReadScope } from '../../agent/types.ts'
import { projectRoot } from './context-files.ts'
import { gitFacts } from './git-facts.ts'
import { projectFacts } from './project-facts.ts'

/** `PRETTY_NAME` of os-release(5), such as `Debian GNU/Linux 12 (bookworm)`; empty where there is none. */
const distribution = (): string =>
  /^PRETTY_NAME=["']?([^"'\n]{1,80})/m.exec(readText('/etc/os-release').text ?? '')?.[1] ?? ''

/** The shell that the terminal tool uses. */
const shellOf = (path: string): string =>
  path.split(delimiter).some(dir => existsSync(join(dir, 'bash'))) ? 'bash' : 'sh'

/** Anyone may choose a file name or a commit subject: one that gives instructions is left out with its line. */
const withoutThreat = (line: string): string => {
  const threat = findThreat(line)
  return threat ? `${line.slice(0, line.indexOf(':'))}: left out, it contains ${threat}.` : line
}

/** The lines of the prompt's environment section. Never throws for the contents of the disk. `timeoutMs`: of each git command. */
export const environmentFacts = async (
  workspace: string,
  scope: ReadScope,
  limits: { timeoutMs?: number } = {},
): Promise<string> => {
  const { PATH = '', HOME = '' } = scope.env
  const system = [distribution(), `${systemType()} ${release()}`, arch()].filter(Boolean).join(', ')
  const machine = `- System: ${system}; shell: ${shellOf(PATH)}${HOME === '' ? '' : `; home directory: ${HOME}`}`
  const root = realPath(workspace)
  const isHidden = hiddenGuard(scope)
  if (isHidden(root)) return machine
  const repository = projectRoot(root)
  const lines = [
    ...projectFacts({ root: repository, isHidden }, root),
    ...(await gitFacts(repository, { path: PATH, userHome: HOME, ...limits })),
  ]
  return [machine, ...lines.map(withoutThreat)].join('\n')
}
