/**
 * `<home>/cron/jobs.json`, which the agent reads and writes as well: `{ "jobs": […], "updated_at": ISO }`.
 *
 * Everything that is not ours to change keeps its value: unknown fields, unknown jobs, numbers to their last digit. A file
 * that nobody can read is never overwritten. Edits hold the agent's own lock, `.jobs.lock`, and begin with what is on
 * disk then, not with what we knew.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../base/json.ts'
import { conflict, diskFull } from '../errors.ts'
import { writeAtomic } from '../store/atomic-write.ts'
import { preserveNumbers } from '../store/json-numbers.ts'
import { cachedFile } from '../store/cached-file.ts'
import { jsonReason } from '../store/json-file.ts'
import { withFileLock } from '../store/flock.ts'
import { readText } from '../store/read-text.ts'
import { isDiskFull } from '../store/journal.ts'

export type RawJob = Record<string, unknown>
type Document = { jobs: unknown[]; [key: string]: unknown }

export type JobsFile = {
  readonly dir: string
  /**
   * As they stand on disk now, or as they last could be read; what is no object or has no id is left out. Treat as
   * frozen.
   */
  read(): readonly RawJob[]
  /** Why the file cannot be read, or null. */
  problem(): string | null
  /** It cannot be read, and never could since this process began. */
  isLost(): boolean
  /**
   * Holds the lock while `change` edits the list in place: it answers what to hand back, and whether to write.
   * Refuses while the file is broken.
   */
  edit<T>(change: (jobs: unknown[]) => { result: T; write: boolean }): Promise<T>
}

const LOCK_WAIT_MS = 30_000

export const isJob = (value: unknown): value is RawJob & { id: string } =>
  isObject(value) && typeof value.id === 'string' && value.id !== ''

/** Control characters inside strings, which strict JSON forbids and some writers let through. */
const escapeControls = (text: string): string => {
  let inside = false
  let escaped = false
  let out = ''
  for (const char of text) {
    const code = char.charCodeAt(0)
    if (inside && code < 0x20) {
      out += `\\u${code.toString(16).padStart(4, '0')}`
      escaped = false
      continue
    }
    if (escaped) escaped = false
    else if (inside && char === '\\') escaped = true
    else if (char === '"') inside = !inside
    out += char
  }
  return out
}

/** Throws an Error that says what is wrong. */
const parse = (text: string, reviver?: typeof preserveNumbers): Document => {
  const read = (given: string): unknown => JSON.parse(given, reviver)
  let value: unknown
  try {
    value = read(text)
  } catch {
    // Once more, leniently; what is wrong beyond that is told.
    value = read(escapeControls(text))
  }
  if (!isObject(value)) throw new Error('it holds no list of jobs')
  const jobs = value.jobs ?? []
  if (!Array.isArray(jobs)) throw new Error('its "jobs" are no list')
  return { ...value, jobs }
}

type Seen = { jobs: readonly RawJob[]; problem: string | null }

const MAX_BYTES = 32 * 1024 * 1024

export const jobsFile = (dir: string, updatedAt: () => string): JobsFile => {
  const path = join(dir, 'jobs.json')
  let good: readonly RawJob[] | null = null
  /** Kept for the person to mend: what it last said goes on to be shown. */
  const kept = (problem: string): Seen => ({ jobs: good ?? [], problem })
  const view = cachedFile(
    path,
    ({ text, problem }): Seen => {
      if (problem !== null) return kept(problem)
      try {
        good = text === null || text.trim() === '' ? [] : parse(text).jobs.filter(isJob)
        return { jobs: good, problem: null }
      } catch (error) {
        return kept(jsonReason(error, text ?? ''))
      }
    },
    { maxBytes: MAX_BYTES, retainsWhenEmptied: true },
  )

  const onDisk = (): Document => {
    const { problem: seen } = view()
    const { text, problem } = readText(path, { maxBytes: MAX_BYTES })
    try {
      const reason = problem ?? seen
      if (reason !== null) throw new Error(reason)
      return text === null || text.trim() === '' ? { jobs: [] } : parse(text, preserveNumbers)
    } catch (error) {
      const reason = jsonReason(error, text ?? '')
      throw conflict(`cron/jobs.json cannot be read; mend or remove it first (${reason})`)
    }
  }

  const write = (document: Document): void => {
    const text = JSON.stringify({ ...document, updated_at: updatedAt() }, null, 2)
    try {
      writeAtomic(path, `${text}\n`)
    } catch (error) {
      if (isDiskFull(error)) throw diskFull('The disk is full; nothing was changed.')
      throw error
    }
  }

  return {
    dir,
    read: () => view().jobs,
    problem: () => view().problem,
    isLost: () => view().problem !== null && good === null,
    edit(change) {
      mkdirSync(dir, { recursive: true, mode: 0o700 })
      return withFileLock(join(dir, '.jobs.lock'), { timeoutMs: LOCK_WAIT_MS }, () => {
        const document = onDisk()
        const { result, write: isChanged } = change(document.jobs)
        if (isChanged) write(document)
        return result
      })
    },
  }
}
