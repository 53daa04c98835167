/** Finds the host agent's checkout and installs its dependencies, if that is enabled and the directory can be trusted. */
import { existsSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { run } from '../base/process.ts'
import { messageOf } from '../errors.ts'

const INSTALL_MS = 120_000
const MAX_ERROR_CHARS = 300

/** Dependency manifests; the first one found is used. */
const MANIFESTS = ['pyproject.toml', 'requirements.txt', 'package.json'] as const

type CheckoutPaths = { agentDir: string | null; baseHome: string }

/** The configured directory, else one of the usual names in the home; null when there is none. */
export const findAgentDir = ({ agentDir, baseHome }: CheckoutPaths): string | null => {
  if (agentDir) return existsSync(agentDir) ? agentDir : null
  const usual = ['agent', 'hermes-agent'].map(name => join(baseHome, name))
  return usual.find(dir => MANIFESTS.some(name => existsSync(join(dir, name)))) ?? null
}

const GROUP_OR_WORLD_WRITE = 0o022

/** Why another user could have written to `path`; empty when none could. */
const untrustedReason = (path: string, uid: number | undefined): string => {
  const { uid: owner, mode } = statSync(path)
  if (uid !== undefined && owner !== uid) return `${path} belongs to another user`
  if (mode & GROUP_OR_WORLD_WRITE) return `${path} can be written by others`
  return ''
}

/** The checkout's virtual environment, if it has one. */
const pythonOf = (dir: string): string =>
  ['.venv/bin/python', 'venv/bin/python'].map(path => join(dir, path)).find(existsSync) ?? 'python3'

const commandOf = (dir: string, manifest: (typeof MANIFESTS)[number]): [string, string[]] => {
  const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
  if (manifest === 'pyproject.toml') return [pythonOf(dir), [...pip, '-e', '.']]
  if (manifest === 'requirements.txt') return [pythonOf(dir), [...pip, '-r', manifest]]
  return ['npm', [existsSync(join(dir, 'package-lock.json')) ? 'ci' : 'install', '--omit=dev']]
}

export type InstallOptions = CheckoutPaths & {
  enabled: boolean
  env: Readonly<Record<string, string>>
  log: { info: (line: string) => void; warn: (line: string) => void }
  uid?: number | undefined
  signal: AbortSignal
}

/** Installs; returns what went wrong, empty when nothing did. */
const runInstall = async (
  dir: string,
  [command, args]: [string, string[]],
  { env, signal }: InstallOptions,
): Promise<string> => {
  try {
    const limits = { timeoutMs: INSTALL_MS, maxBytes: Number.POSITIVE_INFINITY }
    const result = await run(command, args, { cwd: dir, env, signal, ...limits })
    if (result.stopped === 'abort') return 'The service is shutting down'
    return result.code === 0
      ? ''
      : result.tail.trim().slice(-MAX_ERROR_CHARS) || `exit code ${result.code}`
  } catch (error) {
    return messageOf(error)
  }
}

const install = async (deps: InstallOptions): Promise<void> => {
  const { log } = deps
  const agentDir = findAgentDir(deps)
  if (!agentDir) return log.info('AGENT_WEBUI_AUTO_INSTALL is on, but there is no agent directory')
  // A symlink may point to a directory of another user: check the target.
  const dir = realpathSync(agentDir)
  const manifest = MANIFESTS.find(name => existsSync(join(dir, name)))
  if (!manifest) return log.info(`No dependency manifest in ${dir}`)
  const command = commandOf(dir, manifest)
  const program = command[0].startsWith('/') ? [realpathSync(command[0])] : []
  const why = [dir, join(dir, manifest)].map(path => untrustedReason(path, deps.uid)).find(Boolean)
  if (why) return log.warn(`The agent's dependencies are not installed: ${why}`)
  for (const path of program) {
    if (statSync(path).mode & GROUP_OR_WORLD_WRITE) {
      return log.warn(
        `The agent's dependencies are not installed: ${path} can be written by others`,
      )
    }
  }
  const problem = await runInstall(dir, command, deps)
  if (problem) log.warn(`The agent's dependencies could not be installed: ${problem}`)
  else log.info(`The agent's dependencies in ${dir} are installed`)
}

/** Never rejects: the outcome is logged. */
export const installAgentDependencies = async (deps: InstallOptions): Promise<void> => {
  if (!deps.enabled) return
  try {
    await install(deps)
  } catch (error) {
    deps.log.warn(`The agent's dependencies are not installed: ${messageOf(error)}`)
  }
}
