/** Writes into auth.json how the keys of a pool fared: under the lock the command line takes, and nothing else in it changes. */
import { join } from 'node:path'
import { type JsonObject, isObject } from '../../base/json.ts'
import { conflict } from '../../errors.ts'
import { preserveNumbers } from '../../store/json-numbers.ts'
import { type FileLockOptions, withFileLock } from '../../store/flock.ts'
import { jsonReason } from '../../store/json-file.ts'
import { readText } from '../../store/read-text.ts'
import { replaceText } from '../../store/atomic-write.ts'
import { toProviderId } from '../provider-ids.ts'
import { entryId, tokenOf } from '../provider-config.ts'

/** What is noted of one key. Times are seconds since 1970, as the agent writes them. */
export type KeyStatus = {
  status: 'ok' | 'exhausted'
  at: number
  /** Calls since the last note. */
  used: number
  code?: number | undefined
  reason?: string
  message?: string
  resetAt?: number | undefined
}

export type PooledKey = {
  provider: string
  id: string
  key: string
  /** The variable it is read from; null for what stands in the pool itself. */
  variable: string | null
}

/** As long as the agent waits for it. */
const LOCK_WAIT_MS = 15_000

/** Null for a missing file; throws on one that cannot be understood. */
const readAuth = (path: string): JsonObject | null => {
  const { text, problem } = readText(path)
  if (problem !== null)
    throw conflict(`auth.json cannot be read; mend or remove it first (${problem})`)
  if (text === null) return null
  try {
    const value: unknown = JSON.parse(text, preserveNumbers)
    if (isObject(value)) return value
  } catch (error) {
    throw conflict(`auth.json cannot be read; mend or remove it first (${jsonReason(error, text)})`)
  }
  throw conflict('auth.json cannot be read; mend or remove it first (it holds no mapping)')
}

const poolOf = (auth: JsonObject | null, provider: string): unknown[] | null => {
  const pools = auth?.credential_pool
  if (!isObject(pools)) return null
  const name = Object.keys(pools).find(id => toProviderId(id) === provider)
  const list = name === undefined ? undefined : pools[name]
  return Array.isArray(list) && list.length > 0 ? list : null
}

const entryOf = (list: unknown[], { id, key, variable }: PooledKey): JsonObject | undefined => {
  const bags = list.filter(isObject)
  if (variable) return bags.find(({ source }) => source === `env:${variable}`)
  // Replaced by another key meanwhile: the note is not about that one.
  return bags.find((bag, at) => entryId(bag, at) === id && tokenOf(bag) === key)
}

/** A whole number, also where it was written as 3.0. */
const countOf = (value: unknown): number => {
  const number = Number(isObject(value) ? value.rawJSON : value)
  return Number.isSafeInteger(Math.trunc(number)) ? Math.trunc(number) : 0
}

const NOTHING = {
  last_error_code: null,
  last_error_reason: null,
  last_error_message: null,
  last_error_reset_at: null,
}

/** The `last_*` keys are always written, null where there is nothing to say. */
const applyStatus = (entry: JsonObject, note: KeyStatus): void => {
  Object.assign(entry, {
    ...NOTHING,
    ...(note.status === 'exhausted' && {
      last_error_code: note.code ?? null,
      last_error_reason: note.reason ?? null,
      last_error_message: note.message ?? null,
      last_error_reset_at: note.resetAt ?? null,
    }),
    last_status: note.status,
    last_status_at: note.at,
    request_count: countOf(entry.request_count) + note.used,
  })
}

/** A variable beside a pool is one of its keys: the agent seeds it in the same way. */
const seed = (list: unknown[], { id, key, variable }: PooledKey): JsonObject => {
  const priorities = list.filter(isObject).map(({ priority }) => countOf(priority))
  const entry: JsonObject = {
    id,
    label: variable,
    auth_type: 'api_key',
    priority: Math.max(-1, ...priorities) + 1,
    source: `env:${variable}`,
    access_token: key,
  }
  list.push(entry)
  return entry
}

/**
 * False when there is nothing to write into: no file, or no pool of this provider. One that cannot be read is never
 * overwritten: then it throws, as it does when somebody holds the lock too long.
 */
export const saveKeyStatus = async (
  dir: string,
  noted: PooledKey,
  note: KeyStatus,
  lock: Partial<FileLockOptions> = {},
): Promise<boolean> => {
  const path = join(dir, 'auth.json')
  // Looked at before the lock is taken, so that a home without a pool gets no lock file either.
  if (!poolOf(readAuth(path), noted.provider)) return false
  const options = { timeoutMs: LOCK_WAIT_MS, ...lock }
  return withFileLock(join(dir, 'auth.lock'), options, () => {
    const auth = readAuth(path)
    const list = poolOf(auth, noted.provider)
    if (!auth || !list) return false
    const entry = entryOf(list, noted) ?? (noted.variable ? seed(list, noted) : undefined)
    if (!entry) return false
    if (noted.variable && tokenOf(entry) !== noted.key) entry.access_token = noted.key
    applyStatus(entry, note)
    const at = new Date(note.at * 1_000).toISOString().replace('Z', '+00:00')
    const text = JSON.stringify({ ...auth, updated_at: at }, null, 2)
    replaceText(path, `${text}\n`, { mode: 0o600 })
    return true
  })
}
