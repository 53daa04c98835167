/** The server's own files in the state directory. Tools and file requests must not access them. */
import { join } from 'node:path'
import { isBelow, realPath } from './path-within.ts'

const OWN = [
  'sessions',
  'conflicts',
  'cluster.json',
  'live',
  'trash',
  'file-trash',
  'incoming',
  'tool-output',
  'cache',
  'settings.json',
  'grants.json',
  '.password',
  '.password_set',
  '.second_factor',
  'people.json',
  'audit.jsonl',
  'audit.1.jsonl',
  'auth-sessions.json',
  'auth-throttle.json',
  'auth-code-throttle.json',
  'vapid.json',
  'notifications.json',
  'notifications-outbox.json',
  'api-tokens.json',
  'backups.json',
  'shares.json',
  '.signing_key',
  'instance.lock',
  'instance.lock-journal',
  'instance.json',
  'workspaces.json',
  'projects.json',
  'imports.json',
  'accepted-guards.json',
  'last_workspace.txt',
  'location.json',
]

export const protectedPaths = (stateDir: string): string[] => OWN.map(name => join(stateDir, name))

/** True for the state directory itself and everything in the server's own files, none of which can be a workspace. */
export const isProtectedPath = (stateDir: string, path: string): boolean => {
  const real = realPath(path)
  return path === stateDir || protectedPaths(stateDir).some(place => isBelow(realPath(place), real))
}
