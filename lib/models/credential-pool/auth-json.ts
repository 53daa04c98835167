/** Saves the status of pooled keys in auth.json, under the lock the command line uses. Nothing else in the file changes. */
import type { Words } from '../../base/sentences.ts'
import { basename, join } from 'node:path'
import { fromSeconds } from '../../base/clock.ts'
import { type JsonObject, isObject } from '../../base/json.ts'
import { conflict } from '../../errors.ts'
import { preserveNumbers } from '../../store/json-numbers.ts'
import { withFileLock } from '../../store/flock.ts'
import { jsonReason } from '../../store/json-file.ts'
import { readText } from '../../store/read-text.ts'
import { replaceText } from '../../store/atomic-write.ts'
import { toProviderId } from '../provider-ids.ts'
import { entryId, tokenOf } from '../provider-config.ts'

/** Status of a key. Times are seconds since 1970, as the command line writes them. */
export type KeyStatus = {
  status: 'ok' | 'exhausted'
  at: number
  /** Calls since the last save. */
  calls: number
  code?: number | undefined
  reason?: string
  message?: string
  resetAt?: number | undefined
}

export type PooledKey = {
  provider: string
  id: string
  key: string
  /** The variable the key is read from; null for a key stored in the pool. */
  variable: string | null
}

/** The command line waits as long. */
export const LOCK_WAIT_MS = 15_000

/** Null for a missing file; throws a UserError for an unreadable one. Numbers keep their source text. */
export const readAuth = (path: string): JsonObject | null => {
  const unreadable = (reason: Words) =>
    conflict(`Couldn’t read ${basename(path)}. Fix or remove it first (${reason})`, {
      code: 'file_unreadable',
      values: { file: basename(path), reason },
    })
  const { text, problem } = readText(path)
  if (problem !== null) throw unreadable(problem)
  if (text === null) return null
  try {
    const value: unknown = JSON.parse(text, preserveNumbers)
    if (isObject(value)) return value
  } catch (error) {
    throw unreadable(jsonReason(error, text))
  }
  throw unreadable('it is not a JSON object')
}

/** The format of the command line's dates. */
export const isoDate = (ms: number): string => new Date(ms).toISOString().replace('Z', '+00:00')

/** Replaces the file atomically; call it under the lock. Throws a UserError when the disk is full. */
export const writeAuth = (path: string, auth: JsonObject, atMs: number): void => {
  const text = JSON.stringify({ ...auth, updated_at: isoDate(atMs) }, null, 2)
  replaceText(path, `${text}\n`, { mode: 0o600 })
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
  // The key may have been replaced since; the status is not about the new one.
  return bags.find((bag, at) => entryId(bag, at) === id && tokenOf(bag) === key)
}

/** An integer, also when written as 3.0. */
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

/** The `last_*` keys are always written; null when not applicable. */
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
    request_count: countOf(entry.request_count) + note.calls,
  })
}

/** Adds the key of a variable to the pool, as the command line does. */
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
 * False when there is no file or no pool of this provider. Throws when the file cannot be read (it is never overwritten) or
 * when the lock is held too long.
 */
export const saveKeyStatus = async (
  dir: string,
  key: PooledKey,
  note: KeyStatus,
): Promise<boolean> => {
  const path = join(dir, 'auth.json')
  // Check before taking the lock, so that a home without a pool gets no lock file.
  if (!poolOf(readAuth(path), key.provider)) return false
  return withFileLock(join(dir, 'auth.lock'), { timeoutMs: LOCK_WAIT_MS }, () => {
    const auth = readAuth(path)
    const list = poolOf(auth, key.provider)
    if (!auth || !list) return false
    const entry = entryOf(list, key) ?? (key.variable ? seed(list, key) : undefined)
    if (!entry) return false
    if (key.variable && tokenOf(entry) !== key.key) entry.access_token = key.key
    applyStatus(entry, note)
    writeAuth(path, auth, fromSeconds(note.at))
    return true
  })
}
