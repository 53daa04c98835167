/** Control files and our own ports: commands that touch them always need approval, because they configure the agent itself. */
import { join } from 'node:path'
import { namesIn } from '../../base/directories.ts'
import { readWholeText } from '../../store/read-text.ts'

/** Directories in the state directory that the agent may use: its workspace, its offloaded results, and worktrees of chats. */
const OPEN_DIRS = ['workspace', 'tool-output', 'worktrees']

export type ControlPaths = {
  /** The session's home, and the base home that contains all profiles. */
  home: string
  baseHome: string
  stateDir: string
  userHome: string
  /** Sourced for the environment of every command, without approval. */
  shellInitFiles: readonly string[]
  /** The programs of hooks, which run without approval. */
  hookScripts: readonly string[]
  /** The program of this process. */
  program: string
}

/** Absolute paths; `**` matches any directories. */
export const controlFiles = ({
  home,
  baseHome,
  stateDir,
  userHome,
  shellInitFiles,
  hookScripts,
  program,
}: ControlPaths): string[] => [
  ...[home, baseHome].flatMap(dir => [
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
    .filter(dir => dir !== home),
  join(baseHome, 'active_profile'),
  ...namesIn(stateDir)
    .filter(name => !OPEN_DIRS.includes(name))
    .map(name => join(stateDir, name)),
  join(userHome, '.config', 'systemd', 'user', 'agent-webui.service'),
  ...shellInitFiles,
  ...hookScripts,
  program,
]

/** Ports through which a command could reach this service. */
export const ownPorts = (stateDir: string, port: number): string[] => {
  const found = port > 0 ? [String(port)] : []
  try {
    const { address } = JSON.parse(readWholeText(join(stateDir, 'instance.json')))
    found.push(new URL(address).port)
  } catch {
    // Not running as a service.
  }
  return [...new Set(found)].filter(one => one !== '')
}
