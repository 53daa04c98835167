/** What the state directory holds of the service: closed to tools and to requests about files, everything else in it is not. */
import { join } from 'node:path'
import { isInside } from './path-within.ts'

const OWN = [
  'sessions',
  'live',
  'trash',
  'file-trash',
  'incoming',
  'tool-output',
  'cache',
  'settings.json',
  'grants.json',
  'auth-sessions.json',
  '.signing_key',
  'instance.lock',
  'instance.json',
  'workspaces.json',
  'projects.json',
  'accepted-guards.json',
  'last_workspace.txt',
]

export const protectedPaths = (stateDir: string): string[] => OWN.map(name => join(stateDir, name))

/** A folder that could never be worked in: the state directory itself, or a part of what the service keeps there. */
export const isProtectedPath = (stateDir: string, path: string): boolean =>
  path === stateDir || protectedPaths(stateDir).some(place => isInside(place, path))
