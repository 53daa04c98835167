/** The places of other profiles that no tool of this one may look into: a turn works in its own home only. */
import { join } from 'node:path'
import type { Home } from './home.ts'
import { DEFAULT_PROFILE, type Homes } from './homes.ts'

/** Of the base home, which holds the other ones and may hold workspaces: what belongs to its profile. */
const BASE_PRIVATE = [
  '.env',
  'auth.json',
  'auth.lock',
  'config.yaml',
  'SOUL.md',
  'memories',
  'skills',
  'cron',
  'sessions',
  'logs',
  'plans',
  'state.db',
  'state.db-wal',
  'state.db-shm',
]

export const otherHomePaths = (homes: Pick<Homes, 'list' | 'dir'>, home: Home): string[] =>
  home.name === DEFAULT_PROFILE
    ? [homes.dir]
    : homes
        .list()
        .filter(other => other.name !== home.name)
        .flatMap(other =>
          other.name === DEFAULT_PROFILE
            ? BASE_PRIVATE.map(name => join(other.dir, name))
            : [other.dir],
        )
