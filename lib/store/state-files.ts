/** The entries of the state directory: what a backup does with them, and which tools and file requests must not access. */
import { join } from 'node:path'
import { isBelow, realPath, realPaths } from './path-within.ts'

/**
 * Every entry of the state directory, with what a backup does with it; docs/state-directory.md describes each. `strip`: saved
 * without the keys in it. `skip`: can be rebuilt, or describes a running process. `work`: files of the agent and of people.
 */
const ENTRIES = {
  workspace: 'work',
  worktrees: 'work',
  sessions: 'save',
  conflicts: 'save',
  live: 'save',
  trash: 'save',
  'file-trash': 'save',
  'tool-output': 'save',
  'grants.json': 'save',
  'workspaces.json': 'save',
  'projects.json': 'save',
  'imports.json': 'save',
  'accepted-guards.json': 'save',
  'last_workspace.txt': 'save',
  'location.json': 'save',
  'audit.jsonl': 'save',
  'audit.1.jsonl': 'save',
  'backups.json': 'save',
  'settings.json': 'strip',
  '.signing_key': 'key',
  '.password': 'key',
  '.password_set': 'key',
  '.second_factor': 'key',
  'people.json': 'key',
  'auth-sessions.json': 'key',
  'accepted-settings.json': 'key',
  'api-tokens.json': 'key',
  'shares.json': 'key',
  'vapid.json': 'key',
  'notifications.json': 'key',
  'notifications-outbox.json': 'key',
  cells: 'key',
  cache: 'skip',
  incoming: 'skip',
  'request-keys': 'skip',
  updates: 'skip',
  'instance.json': 'skip',
  'instance.lock': 'skip',
  'instance.lock-journal': 'skip',
  'cluster.json': 'skip',
  'not-copied.json': 'skip',
  'only-here.json': 'skip',
  'restore.json': 'skip',
  'auth-throttle.json': 'skip',
  'auth-code-throttle.json': 'skip',
} as const

export type StateEntry = (typeof ENTRIES)[keyof typeof ENTRIES]

const TABLE: ReadonlyMap<string, StateEntry> = new Map(Object.entries(ENTRIES))

/** Undefined for a name that this version does not know. */
export const stateEntry = (name: string): StateEntry | undefined => TABLE.get(name)

export const protectedPaths = (stateDir: string): string[] =>
  [...TABLE].flatMap(([name, kind]) => (kind === 'work' ? [] : [join(stateDir, name)]))

/** True for the state directory itself and everything in the server's own files, none of which can be a workspace. */
export const isProtectedPath = (stateDir: string, path: string): boolean => {
  const real = realPath(path)
  return (
    path === stateDir || realPaths(protectedPaths(stateDir)).some(place => isBelow(place, real))
  )
}
