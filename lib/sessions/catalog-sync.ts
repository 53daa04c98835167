/** Keeps the catalog in sync with the session files, including changes by other programs. */
import { existsSync, readdirSync, renameSync, statSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { basename } from 'node:path'
import { toSeconds } from '../base/clock.ts'
import { messageOf, UserError } from '../errors.ts'
import { errorCode } from '../store/file-error.ts'
import { fileStamp } from '../store/journal.ts'
import { reportWrite } from '../store/write-reports.ts'
import type { Catalog } from './catalog.ts'
import { joinFormats } from './conversion.ts'
import {
  emptied,
  foldFile,
  idOfName,
  isEmptied,
  type SessionFile,
  type SessionFiles,
} from './files.ts'
import { emptySummary, type Summary } from './fold.ts'
import { UNTITLED } from './list-row.ts'
import type { SessionsOptions } from './sessions.ts'
import type { Watch } from './watch.ts'

/** A file that was created this recently may not have its first line yet. */
const YOUNG_MS = 60_000

/** A background sweep blocks the main thread at most this long. */
const SLICE_MS = 8

const hasContent = ({ count, meta }: Summary): boolean =>
  count > 0 || (meta.title ?? UNTITLED) !== UNTITLED

export class CatalogSync {
  readonly #options: SessionsOptions
  readonly #files: SessionFiles
  readonly #catalog: Catalog
  /** Stamps of `.json` files that are not sessions, or whose content is already in a journal. By path. */
  readonly #rejected = new Map<string, string>()
  /** The stamp an unreadable file had when it was reported, by path: each is logged once per state. */
  readonly #reported = new Map<string, string>()
  #isQuiet = false

  constructor(options: SessionsOptions, files: SessionFiles, catalog: Catalog) {
    this.#options = options
    this.#files = files
    this.#catalog = catalog
  }

  #reportOnce(path: string, stamp: string, line: string, extra: Record<string, unknown> = {}) {
    if (this.#reported.get(path) === stamp) return
    this.#reported.set(path, stamp)
    this.#options.log(line, { name: basename(path), ...extra })
  }

  /** An unreadable file must neither hide the other sessions nor lose its own row, so its error is only logged. */
  #attempt<T>(path: string, stamp: string, read: () => T): T | 'unreadable' {
    try {
      return read()
    } catch (error) {
      if (errorCode(error) === '' && !(error instanceof UserError)) throw error
      this.#reportOnce(path, stamp, 'could not read a session', { error: messageOf(error) })
      return 'unreadable'
    }
  }

  /** For an id with files in both formats. */
  #joinFormats(id: string): void {
    const json = this.#files.json(id)
    const stamp = fileStamp(json)
    if (!stamp || this.#rejected.get(json) === stamp || !fileStamp(this.#files.jsonl(id))) return
    const joined = joinFormats(id, this.#files)
    if (joined === 'converted') return
    const { log } = this.#options
    if (typeof joined === 'object') {
      const other = joined.moved
      log('a session was also written in the former format; kept as a separate session', {
        session_id: id,
        other,
      })
      this.refresh(other)
      return
    }
    this.#rejected.set(json, stamp)
    if (joined === 'continued') {
      log('a session went on in the former format; its new messages were added', { session_id: id })
      this.refresh(id)
    } else
      log('a session exists in both formats; the journal contains all of the .json file', {
        session_id: id,
      })
  }

  #removeRow(id: string): false {
    const row = this.#catalog.row(id)
    if (row) this.#options.onDeleted(id, row.profile, this.#catalog.remove(id))
    return false
  }

  #put(...args: Parameters<Catalog['put']>): true {
    const row = this.#catalog.put(...args)
    if (!this.#isQuiet) this.#options.onRow(row)
    return true
  }

  /**
   * A chat of which nothing is known but its emptied file is listed, so that it is not gone without a word. Its stamp is none
   * of a file: it is compared again each time.
   */
  #putEmptied({ id, path }: SessionFile): boolean {
    const { mtimeMs } = statSync(path)
    // Another process may be about to write its first line.
    if (this.#options.clock.now() - mtimeMs < YOUNG_MS) return false
    this.#attempt(path, fileStamp(path) ?? '', () => {
      throw emptied()
    })
    const at = toSeconds(mtimeMs)
    const meta = { title: `Unreadable chat ${id}` }
    return this.#put({ ...emptySummary(id), created_at: at, updated_at: at, meta }, '', true)
  }

  /** Updates the row of `id` from its file. False when there is no such session. */
  refresh(id: string): boolean {
    const file = this.#files.find(id)
    if (!file) return this.#removeRow(id)
    const { path, stamp, format } = file
    if (stamp === this.#catalog.stamp(id)) return true
    if (format === 'json' && this.#rejected.get(path) === stamp) return this.#removeRow(id)
    const result = this.#attempt(path, stamp, () => {
      if (format === 'jsonl') this.#joinFormats(id)
      return foldFile(file)
    })
    if (result === 'unreadable') return this.#catalog.stamp(id) !== undefined
    const { log } = this.#options
    if (!result) {
      this.#rejected.set(path, stamp)
      log('skipped a .json file that is not a session', { name: `${id}.json` })
      return this.#removeRow(id)
    }
    const { summary, usage } = result
    if (isEmptied(summary)) {
      const earlier = this.#catalog.get(id)?.summary
      if (!earlier) return this.#putEmptied(file)
      if (hasContent(earlier)) {
        this.#attempt(path, stamp, () => {
          throw emptied()
        })
        return true
      }
    }
    const to = summary.renamedTo
    if (to !== null && to !== id && !existsSync(this.#files.jsonl(to))) {
      // Killed between the `renamed` line and the rename of the file.
      renameSync(path, this.#files.jsonl(to))
      reportWrite(path)
      reportWrite(this.#files.jsonl(to))
      this.#removeRow(id)
      this.refresh(to)
      return false
    }
    if (summary.bad > 0)
      log('skipped unreadable lines of a session', { session_id: id, lines: summary.bad })
    return this.#put(summary, stamp, true, usage)
  }

  /** Compares every file with its row; yields between slices. */
  *#steps(): Generator<void> {
    const names = readdirSync(this.#files.dir)
    const ids = new Set<string>()
    const stamps = this.#catalog.stamps()
    yield
    const { clock } = this.#options
    for (let next = 0; next < names.length; ) {
      const started = clock.monotonic()
      this.#catalog.batch(() => {
        for (; next < names.length && clock.monotonic() - started < SLICE_MS; next += 1)
          this.#compare(names[next] as string, ids, stamps)
      })
      yield
    }
    for (const id of stamps.keys()) if (!ids.has(id)) this.refresh(id)
  }

  #compare(name: string, ids: Set<string>, stamps: ReadonlyMap<string, string>): void {
    const id = idOfName(name)
    if (id === undefined) return
    const path = this.#files.path(name)
    const stamp = fileStamp(path)
    // A directory, pipe or device with the name of a session.
    if (stamp === undefined) this.#reportOnce(path, '', 'skipped a session name that is not a file')
    // An id that was seen already exists in both formats.
    else if (ids.has(id)) this.#attempt(this.#files.json(id), stamp, () => this.#joinFormats(id))
    else {
      ids.add(id)
      if (stamps.get(id) !== stamp) this.refresh(id)
    }
  }

  /** Throws for a chat whose file has nothing of what is known of it. */
  requireReadable(id: string): void {
    const file = this.#files.find(id)
    if (!file || file.stamp === this.#catalog.stamp(id)) return
    const earlier = this.#catalog.get(id)?.summary
    if (!earlier || !hasContent(earlier)) return
    const fold = foldFile(file)
    if (fold && isEmptied(fold.summary)) throw emptied()
  }

  /** At start and after a rebuild: clients fetch the whole list, so rows are not published one by one. */
  sweepQuietly(): void {
    this.#isQuiet = true
    try {
      for (const _ of this.#steps());
    } finally {
      this.#isQuiet = false
    }
  }

  async sweep(): Promise<void> {
    for (const _ of this.#steps()) await setImmediate()
  }

  /** Handles the changes the watch has seen since the last call. */
  catchUp(watch: Watch): void {
    const names = watch.takeChanged()
    if (names === null) {
      for (const _ of this.#steps());
      return
    }
    for (const name of names) {
      const id = idOfName(name)
      if (id === undefined) continue
      this.refresh(id)
      if (name.endsWith('.json') && existsSync(this.#files.jsonl(id))) this.#joinFormats(id)
    }
  }
}
