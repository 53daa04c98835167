/** The directories that a backup of this installation reads, and the settings files without their keys. Which files of them it has: `treatmentOf` (`treatment.ts`). */
import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { isObject } from '../../base/json.ts'
import type { BackupScope } from './backup.ts'
import type { BackupPlace } from './treatment.ts'
import type { Config } from '../../config.ts'
import { findAgentDir } from '../host-agent-checkout.ts'
import type { Home } from '../../profiles/home.ts'
import { DEFAULT_PROFILE } from '../../profiles/homes.ts'
import { REMOVED_KEY } from '../../models/credentials.ts'
import { KnownSecrets } from '../../profiles/known-secrets.ts'
import { redact } from '../../base/redact/redact.ts'
import { realPath } from '../../store/path-within.ts'

/** Shorter values, such as `true`, would be replaced in places where they mean something else. */
const MIN_SECRET_CHARS = 5
/** A reference to a variable is no key. */
const REFERENCE = /^\$\{?\w+\}?$/

const withoutSecrets = (text: string, secrets: readonly string[]): string =>
  secrets
    .filter(secret => secret.length >= MIN_SECRET_CHARS && !REFERENCE.test(secret))
    // Longest first: one may be part of another.
    .toSorted((a, b) => b.length - a.length)
    .reduce((result, secret) => result.replaceAll(secret, REMOVED_KEY), text)

const withoutPasswordHash = (text: string): string | null => {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // A damaged file: the hash cannot be found.
    return null
  }
  if (!isObject(value) || !('password_hash' in value)) return text
  const { password_hash: _, ...others } = value
  return `${JSON.stringify(others, null, 2)}\n`
}

/** `homes`: the chosen ones. Without any it is a backup of the service alone. */
export const backupPlaces = (config: Config, homes: readonly Home[]): BackupScope => {
  const state: BackupPlace = { root: 'state', dir: realPath(config.stateDir), kind: 'state' }
  const byRoot = new Map(
    homes.map(home => [home.name === DEFAULT_PROFILE ? 'home' : `profiles/${home.name}`, home]),
  )
  const agentDir = findAgentDir(config)
  const secrets = new KnownSecrets(() => homes)
  return {
    places: [
      state,
      ...[...byRoot].map(
        ([root, { dir }]): BackupPlace => ({ root, dir: realPath(dir), kind: 'home' }),
      ),
      // Before the first start there is no state directory.
    ].filter(({ dir }) => existsSync(dir)),
    excluded: [
      join(realPath(config.baseHome), 'profiles'),
      ...(agentDir === null ? [] : [realPath(agentDir)]),
    ],
    withoutKeys(path, text) {
      if (path === 'state/settings.json') return withoutPasswordHash(text)
      if (path.startsWith('state/'))
        return redact(text) === text && withoutSecrets(text, secrets.list()) === text ? text : null
      // In a file that cannot be parsed, its keys are not known.
      const isReadable = byRoot.get(dirname(path))?.configFile.problem() === null
      return isReadable ? withoutSecrets(text, secrets.list()) : null
    },
  }
}
