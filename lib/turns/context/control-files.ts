/** Control files and our own ports: commands that touch them always need approval, because they configure the agent itself. */
import { isAbsolute, join } from 'node:path'
import { namesIn } from '../../base/directories.ts'
import type { Config } from '../../config.ts'
import type { Home } from '../../profiles/home.ts'
import { initFilePaths } from '../../profiles/init-files.ts'
import { announcedAddress } from '../../store/instance-lock.ts'
import { hookScripts } from './turn-hooks.ts'

/** Directories in the state directory that the agent may use: its workspace, its offloaded results, and worktrees of chats. */
const OPEN_DIRS = ['workspace', 'tool-output', 'worktrees']

/** The paths that control the agent itself, of a home and a workspace: absolute, and `**` matches any directories. */
export const controlPathsOf = (
  { baseHome, stateDir, userHome }: Config,
  home: Home,
  workspace: string,
): string[] => [
  ...[home.dir, baseHome].flatMap(dir => [
    ...[
      'config.yaml',
      '.env',
      'auth.json',
      'mcp-tokens',
      'cron/jobs.json',
      'scripts',
      'hooks',
      'agent-hooks',
      'shell-hooks-allowlist.json',
      'agents',
      'commands',
      'gateway.json',
    ].map(name => join(dir, name)),
    `${join(dir, 'skills')}/**/scripts`,
  ]),
  ...namesIn(join(baseHome, 'profiles'))
    .map(name => join(baseHome, 'profiles', name))
    .filter(dir => dir !== home.dir),
  join(baseHome, 'active_profile'),
  ...namesIn(stateDir)
    .filter(name => !OPEN_DIRS.includes(name))
    .map(name => join(stateDir, name)),
  join(userHome, '.config', 'systemd', 'user', 'agent-webui.service'),
  // Sourced for the environment of every command, without approval.
  ...initFilePaths(home.lenient.config().terminal, home.lenient.env().HOME),
  // The programs of hooks, which run without approval.
  ...hookScripts(home, workspace),
  process.argv[1] ?? process.execPath,
]

/** A path of config.yaml: `~` is the home directory of commands, a relative path starts at the profile's home. */
export const expandPath = (path: string, home: Home, userHome: string): string => {
  const expanded = path.replace(/^~(?=$|\/)/, () => userHome)
  return isAbsolute(expanded) ? expanded : join(home.dir, expanded)
}

/** The paths of `sandbox.hidden`, which file tools must not access either. Empty where the sandbox is turned off. */
export const hiddenBySandbox = (home: Home): string[] => {
  const { sandbox } = home.config()
  const userHome = home.env().HOME ?? ''
  return sandbox.enabled !== false
    ? sandbox.hidden.map(path => expandPath(path, home, userHome))
    : []
}

/** Ports through which a command could reach this service. */
export const ownPorts = (stateDir: string, port: number): string[] => {
  const address = announcedAddress(stateDir)
  const ports = [port > 0 ? String(port) : '', address === null ? '' : new URL(address).port]
  return [...new Set(ports)].filter(one => one !== '')
}
