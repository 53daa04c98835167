/** Creates a profile atomically, optionally as a clone of another one. */
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { asObject } from '../base/json.ts'
import { conflict, invalid, unavailable } from '../errors.ts'
import { PROFILE_NAME } from '../schema/ids.ts'
import { syncDir } from '../store/atomic-write.ts'
import { fileReason } from '../store/file-error.ts'
import { makeDir } from '../store/make-dir.ts'
import type { YamlEdit } from '../store/yaml-file.ts'
import { type Home, openHome } from './home.ts'
import { BAD_NAME, DEFAULT_PROFILE, type Homes } from './homes.ts'
import { reportWrite } from '../store/write-reports.ts'

/** Directories of every home. */
const DIRECTORIES = [
  'memories',
  'sessions',
  'skills',
  'skins',
  'logs',
  'plans',
  'workspace',
  'cron',
] as const

/** Files a clone copies, if present. config.yaml is copied separately, because AGENT_CONFIG_PATH may move it. */
const CLONED = ['.env', 'SOUL.md', 'memories/MEMORY.md', 'memories/USER.md'] as const

export type NewProfile = {
  name: string
  /** The home to clone from. */
  source?: Home | undefined
  baseUrl?: string | undefined
  apiKey?: string | undefined
  /** Runs before the new home becomes visible. */
  prepare?: ((home: Home) => void) | undefined
}

/** Copies mode and times, as the command line does. Files with secrets become private. */
const copy = (from: string, to: string): void => {
  const stats = statSync(from, { throwIfNoEntry: false })
  if (!stats?.isFile()) return
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 })
  copyFileSync(from, to)
  chmodSync(to, stats.mode & (to.endsWith('.env') ? 0o600 : 0o777))
  utimesSync(to, stats.atime, stats.mtime)
}

const isSame = (a: unknown, b: string): boolean =>
  typeof a === 'string' && a.trim().replace(/\/+$/, '') === b.replace(/\/+$/, '')

/** Edits of address and key in the model section. */
const addressEdits = (
  model: unknown,
  { baseUrl, apiKey }: { baseUrl?: string | undefined; apiKey?: string | undefined },
): YamlEdit[] => {
  if (!baseUrl && !apiKey) return []
  const isText = typeof model === 'string'
  const old = asObject(model)
  const before = 'base_url' in old ? old.base_url : undefined
  // The cloned key belongs to another address and must not be sent to the new one.
  const isStale = Boolean(baseUrl && !apiKey && !isSame(before, baseUrl))
  return [
    ...(isText ? [[['model'], model.trim() ? { default: model.trim() } : {}] as const] : []),
    ...(baseUrl ? [[['model', 'base_url'], baseUrl] as const] : []),
    ...(apiKey ? [[['model', 'api_key'], apiKey] as const] : []),
    ...(isStale ? ([[['model', 'api_key'], undefined] as const] as const) : []),
    ...(isStale || apiKey ? ([[['model', 'api'], undefined] as const] as const) : []),
  ]
}

const fill = (home: Home, { source, baseUrl, apiKey, prepare }: NewProfile): void => {
  for (const name of DIRECTORIES) mkdirSync(join(home.dir, name), { mode: 0o700 })
  if (source) {
    const reason = source.configFile.problem()
    if (reason !== null)
      throw conflict(`Couldn’t read the configuration of profile '${source.name}': ${reason}`, {
        code: 'file_unreadable',
        values: { file: source.configFile.path, reason },
      })
    copy(source.configFile.path, join(home.dir, 'config.yaml'))
    for (const path of CLONED) copy(join(source.dir, path), join(home.dir, path))
  }
  const edits = addressEdits(home.configFile.read().model, { baseUrl, apiKey })
  if (edits.length > 0) home.configFile.editAll(edits)
  prepare?.(home)
}

/** Reserves the name: mkdir is atomic, also against the command line. */
const claim = (path: string, name: string): void => {
  try {
    makeDir(dirname(path))
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (existsSync(path))
      throw invalid(`Profile '${name}' already exists.`, { code: 'profile_exists' })
    const reason = fileReason(error)
    throw unavailable(`Couldn’t create the profile: ${reason}`, {
      code: 'profile_not_created',
      values: { reason },
    })
  }
}

/** Removes the directory only while it is empty: another program may have used it since. */
const unclaim = (path: string): void => {
  try {
    rmdirSync(path)
  } catch {
    // Not empty, or already deleted.
  }
}

export const checkNewName = (name: string): void => {
  if (name === DEFAULT_PROFILE)
    throw invalid("Cannot create a profile named 'default' -- it is the built-in profile.", {
      code: 'profile_exists',
    })
  if (!PROFILE_NAME.test(name)) throw invalid(BAD_NAME, { code: 'invalid_profile_name' })
}

/** Builds the home in a staging directory and renames it, so that a killed process never leaves a partial home. */
export const createProfile = (
  homes: Homes,
  env: Readonly<Record<string, string>>,
  profile: NewProfile,
): Home => {
  const { name } = profile
  checkNewName(name)
  const path = join(homes.dir, name)
  const staging = join(homes.dir, `.creating-${name}`)
  claim(path, name)
  try {
    // Left by a killed process. No other process uses it, because the name is reserved.
    rmSync(staging, { recursive: true, force: true })
    mkdirSync(staging, { mode: 0o700 })
    fill(openHome({ name, dir: staging, env, clock: homes.base.clock }), profile)
    renameSync(staging, path)
    reportWrite(path)
    syncDir(homes.dir)
  } catch (error) {
    rmSync(staging, { recursive: true, force: true })
    unclaim(path)
    throw error
  }
  homes.forget(name)
  return homes.open(name)
}
