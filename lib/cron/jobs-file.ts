/**
 * `<home>/cron/jobs.json`, shared with the host agent: `{ "jobs": […], "updated_at": ISO }`.
 *
 * Unknown fields, unknown jobs and the digits of numbers are preserved. An
 * unreadable file is never overwritten. Edits hold the host agent's lock, `.jobs.lock`, and start from what is on
 * disk at that moment, not from a cached version.
 */
import type { Words } from '../base/sentences.ts'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { isObject } from '../base/json.ts'
import { conflict, diskFull, failed } from '../errors.ts'
import { writeAtomic } from '../store/atomic-write.ts'
import { preserveNumbers } from '../store/json-numbers.ts'
import { CachedFile } from '../store/cached-file.ts'
import { jsonReason } from '../store/json-file.ts'
import { withFileLock } from '../store/flock.ts'
import { readText } from '../store/read-text.ts'
import { isDiskFull } from '../store/journal.ts'

export type RawJob = Record<string, unknown>
type Document = { jobs: unknown[]; [key: string]: unknown }

const LOCK_WAIT_MS = 30_000

export const isJob = (value: unknown): value is RawJob & { id: string } =>
  isObject(value) && typeof value.id === 'string' && value.id !== ''

/** Escapes control characters inside strings, which JSON forbids and some writers emit. */
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

/** Throws an Error with the reason. */
const parse = (text: string, reviver?: typeof preserveNumbers): Document => {
  const read = (json: string): unknown => JSON.parse(json, reviver)
  let value: unknown
  try {
    value = read(text)
  } catch {
    // Retry tolerantly; an error in that is reported.
    value = read(escapeControls(text))
  }
  if (!isObject(value)) throw new Error('it holds no list of jobs')
  const jobs = value.jobs ?? []
  if (!Array.isArray(jobs)) throw new Error('its "jobs" are no list')
  return { ...value, jobs }
}

type Snapshot = { jobs: readonly RawJob[]; problem: Words | null }

const MAX_BYTES = 32 * 1024 * 1024

export class JobsFile {
  readonly dir: string
  readonly #path: string
  readonly #updatedAt: () => string
  readonly #view: CachedFile<Snapshot>
  /** While the file is damaged, the last readable version is shown. */
  #good: readonly RawJob[] | null = null

  constructor(dir: string, updatedAt: () => string) {
    this.dir = dir
    this.#path = join(dir, 'jobs.json')
    this.#updatedAt = updatedAt
    this.#view = new CachedFile(
      this.#path,
      ({ text, problem }): Snapshot => {
        try {
          if (problem !== null) throw failed(problem)
          this.#good = text === null || text.trim() === '' ? [] : parse(text).jobs.filter(isJob)
          return { jobs: this.#good, problem: null }
        } catch (error) {
          return { jobs: this.#good ?? [], problem: problem ?? jsonReason(error, text ?? '') }
        }
      },
      { maxBytes: MAX_BYTES, retainsWhenEmptied: true },
    )
  }

  /** The jobs on disk, or the last readable version; entries without an id are skipped. Treat as frozen. */
  read(): readonly RawJob[] {
    return this.#view.read().jobs
  }

  /** Why the file cannot be read, or null. */
  problem(): Words | null {
    return this.#view.read().problem
  }

  /** Whether the file is unreadable and was never readable in this process. */
  isLost(): boolean {
    return this.problem() !== null && this.#good === null
  }

  /**
   * Holds the lock while `change` edits the list in place; it returns the result and whether to write.
   * Throws UserError while the file is unreadable.
   */
  edit<T>(change: (jobs: unknown[]) => { result: T; write: boolean }): Promise<T> {
    mkdirSync(this.dir, { recursive: true, mode: 0o700 })
    return withFileLock(join(this.dir, '.jobs.lock'), { timeoutMs: LOCK_WAIT_MS }, () => {
      const document = this.#onDisk()
      const { result, write } = change(document.jobs)
      if (write) this.#write(document)
      return result
    })
  }

  #onDisk(): Document {
    const seen = this.problem()
    const { text, problem } = readText(this.#path, { maxBytes: MAX_BYTES })
    try {
      const reason = problem ?? seen
      if (reason !== null) throw failed(reason)
      return text === null || text.trim() === '' ? { jobs: [] } : parse(text, preserveNumbers)
    } catch (error) {
      const reason = jsonReason(error, text ?? '')
      throw conflict(`cron/jobs.json cannot be read; fix or delete it first (${reason})`, {
        code: 'file_unreadable',
        values: { file: 'cron/jobs.json', reason },
      })
    }
  }

  #write(document: Document): void {
    const text = JSON.stringify({ ...document, updated_at: this.#updatedAt() }, null, 2)
    try {
      writeAtomic(this.#path, `${text}\n`)
    } catch (error) {
      if (isDiskFull(error)) throw diskFull('The disk is full. Nothing was changed.')
      throw error
    }
  }
}
