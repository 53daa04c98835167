/** Paths of other profiles, which tools of a profile must not access. */
import { join } from 'node:path'
import type { Home } from './home.ts'
import { DEFAULT_PROFILE, type Homes } from './homes.ts'

/** Private files of the default profile. The base home itself also contains the other profiles and may contain workspaces. */
const BASE_PRIVATE = [
  '.env',
  'auth.json',
  'auth.lock',
  'mcp-tokens',
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

export const otherHomePaths = (homes: Homes, home: Home): string[] =>
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
