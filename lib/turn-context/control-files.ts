/** What decides about the agent itself, and where this service answers: commands that reach for either are always asked about. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { readWholeText } from '../store/read-text.ts'

/** Below the state directory: where the agent may work, and its own long results. */
const OPEN = ['workspace', 'tool-output']

const namesIn = (dir: string): string[] => {
  try {
    return readdirSync(dir)
  } catch {
    // Nothing is there yet, so nothing in it has to be kept.
    return []
  }
}

export type ControlPaths = {
  /** The home of the conversation, and the one all profiles lie below. */
  home: string
  baseHome: string
  stateDir: string
  userHome: string
  /** The file this process runs from. */
  program: string
}

/** Absolute paths; two stars stand for any folders between. */
export const controlFiles = ({
  home,
  baseHome,
  stateDir,
  userHome,
  program,
}: ControlPaths): string[] => [
  ...[home, baseHome].flatMap(dir => [
    ...[
      'config.yaml',
      '.env',
      'auth.json',
      'cron/jobs.json',
      'scripts',
      'hooks',
      'gateway.json',
    ].map(name => join(dir, name)),
    `${join(dir, 'skills')}/**/scripts`,
  ]),
  ...namesIn(join(baseHome, 'profiles'))
    .map(name => join(baseHome, 'profiles', name))
    .filter(dir => dir !== home),
  join(baseHome, 'active_profile'),
  ...namesIn(stateDir)
    .filter(name => !OPEN.includes(name))
    .map(name => join(stateDir, name)),
  join(userHome, '.config', 'systemd', 'user', 'agent-webui.service'),
  program,
]

/** Ports by which a command could reach this service. */
export const ownPorts = (stateDir: string, port: number): string[] => {
  const found = port > 0 ? [String(port)] : []
  try {
    const { address } = JSON.parse(readWholeText(join(stateDir, 'instance.json')))
    found.push(new URL(address).port)
  } catch {
    // Not running as a service: there is nothing else to reach.
  }
  return [...new Set(found)].filter(one => one !== '')
}
