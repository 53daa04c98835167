/** Keeps the catalog in sync with the session files, including changes by other programs. */
import { existsSync, readdirSync, renameSync, statSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { basename } from 'node:path'
import { toSeconds } from '../base/clock.ts'
import { messageOf, UserError } from '../errors.ts'
import { errorCode } from '../store/file-error.ts'
import { fileStamp } from '../store/journal.ts'
import type { Catalog } from './catalog.ts'
import {
  emptied,
  type Files,
  foldFile,
  idOfName,
  isEmptied,
  readHeader,
  type SessionFile,
} from './files.ts'
import { continueJournal, messagesWritten } from './continued-json.ts'
import { emptySummary, type Summary } from './fold.ts'
import { finishConversion, moveConflictingFile } from './legacy.ts'
import { UNTITLED } from './list-row.ts'
import type { SessionsOptions } from './types.ts'
import type { Watch } from './watch.ts'
import { reportWrite } from '../store/write-reports.ts'

type CatalogSyncOptions = Pick<SessionsOptions, 'onRow' | 'onDeleted' | 'log' | 'clock'> & {
  files: Files
  catalog: () => Catalog
}

/** A file that was created this recently may not have its first line yet. */
const YOUNG_MS = 60_000

const hasContent = ({ count, meta }: Pick<Summary, 'count' | 'meta'>): boolean =>
  count > 0 || (meta.title ?? UNTITLED) !== UNTITLED

/** A background sweep blocks the main thread at most this long. */
const SLICE_MS = 8

/** Logs each unreadable file once per state. */
const createReporter = (log: SessionsOptions['log']) => {
  /** The stamp a file had when it was reported, by path. */
  const reported = new Map<string, string>()
  return {
    /** An unreadable file must neither hide the other sessions nor lose its own row, so its error is only logged. */
    attempt<T>(path: string, stamp: string, read: () => T): T | 'unreadable' {
      try {
        return read()
      } catch (error) {
        if (errorCode(error) === '' && !(error instanceof UserError)) throw error
        if (reported.get(path) !== stamp) {
          reported.set(path, stamp)
          log('could not read a session', { name: basename(path), error: messageOf(error) })
        }
        return 'unreadable'
      }
    },
    /** A directory, pipe or device with the name of a session. */
    notAFile(path: string): void {
      if (reported.has(path)) return
      reported.set(path, '')
      log('skipped a session name that is not a file', { name: basename(path) })
    },
  }
}

export const createCatalogSync = ({
  files,
  catalog,
  onRow,
  onDeleted,
  log,
  clock,
}: CatalogSyncOptions) => {
  /** Stamps of `.json` files that are not sessions, or whose content is already in a journal. By path. */
  const rejected = new Map<string, string>()
  const reporter = createReporter(log)
  let isQuiet = false

  /** For an id with files in both formats: a conversion was interrupted, or another program writes the former format. The journal keeps the id. */
  const resolveDuplicateFormats = (id: string): void => {
    const json = files.json(id)
    const stamp = fileStamp(json)
    if (!stamp || rejected.get(json) === stamp || !fileStamp(files.jsonl(id))) return
    if (finishConversion(json, readHeader(files.jsonl(id)))) return
    if (continueJournal(id, files.jsonl(id), json)) {
      rejected.set(json, stamp)
      log('a session went on in the former format; its new messages were added', { session_id: id })
      refresh(id)
      return
    }
    const aside = moveConflictingFile(id, messagesWritten(files.jsonl(id)), (of, ending) =>
      files[ending](of),
    )
    if (aside === null) {
      rejected.set(json, stamp)
      log('a session exists in both formats; the journal contains all of the .json file', {
        session_id: id,
      })
      return
    }
    log('a session was also written in the former format; kept as a separate session', {
      session_id: id,
      other: aside,
    })
    refresh(aside)
  }

  const removeRow = (id: string): false => {
    if (catalog().stamp(id) !== undefined) {
      const profile = catalog().profileOf(id)
      onDeleted(id, profile, catalog().remove(id))
    }
    return false
  }

  const isYoung = (path: string): boolean => {
    const found = statSync(path, { throwIfNoEntry: false })
    return !found || clock.now() - found.mtimeMs < YOUNG_MS
  }

  /**
   * A chat of which nothing is known but its emptied file is listed, so that it is not gone without a word. Its stamp is none
   * of a file: it is compared again each time.
   */
  const putEmptied = ({ id, path }: SessionFile): boolean => {
    // Another process may be about to write its first line.
    if (isYoung(path)) return false
    const at = toSeconds(statSync(path).mtimeMs)
    const times = { created_at: at, updated_at: at }
    const meta = { title: `Unreadable chat ${id}` }
    const row = catalog().put({ ...emptySummary(id), ...times, meta }, '', true)
    if (!isQuiet) onRow(row)
    return true
  }

  /** Updates the row of `id` from its file. False when there is no such session. */
  const refresh = (id: string): boolean => {
    const file = files.find(id)
    if (!file) return removeRow(id)
    if (file.stamp === catalog().stamp(id)) return true
    if (file.format === 'json' && rejected.get(file.path) === file.stamp) return removeRow(id)
    const result = reporter.attempt(file.path, file.stamp, () => {
      if (file.format === 'jsonl') resolveDuplicateFormats(id)
      return foldFile(file)
    })
    if (result === 'unreadable') return catalog().stamp(id) !== undefined
    if (!result) {
      rejected.set(file.path, file.stamp)
      log('skipped a .json file that is not a session', { name: `${id}.json` })
      return removeRow(id)
    }
    const { summary } = result
    if (isEmptied(summary)) {
      const known = catalog().get(id)?.summary
      if (!known || hasContent(known)) {
        reporter.attempt(file.path, file.stamp, () => {
          if (known || !isYoung(file.path)) throw emptied()
        })
        return known !== undefined || putEmptied(file)
      }
    }
    const to = summary.renamedTo
    if (to !== null && to !== id && !existsSync(files.jsonl(to))) {
      // Killed between the `renamed` line and the rename of the file.
      renameSync(file.path, files.jsonl(to))
      reportWrite(file.path)
      reportWrite(files.jsonl(to))
      removeRow(id)
      refresh(to)
      return false
    }
    if (summary.bad > 0) {
      log('skipped unreadable lines of a session', {
        session_id: id,
        lines: summary.bad,
      })
    }
    const row = catalog().put(summary, file.stamp, true, result.usage)
    if (!isQuiet) onRow(row)
    return true
  }

  /** Compares every file with its row; yields between slices. */
  function* steps(): Generator<void> {
    const names = readdirSync(files.dir)
    const ids = new Set<string>()
    const known = catalog().stamps()
    yield
    let next = 0
    while (next < names.length) {
      const started = clock.monotonic()
      catalog().batch(() => {
        for (; next < names.length && clock.monotonic() - started < SLICE_MS; next += 1) {
          const id = idOfName(names[next] as string)
          if (id === undefined) continue
          const stamp = fileStamp(files.path(names[next] as string))
          // An id that was seen already exists in both formats.
          if (stamp === undefined) reporter.notAFile(files.path(names[next] as string))
          else if (!ids.has(id)) {
            ids.add(id)
            if (known.get(id) !== stamp) refresh(id)
          } else reporter.attempt(files.json(id), stamp, () => resolveDuplicateFormats(id))
        }
      })
      yield
    }
    for (const id of known.keys()) if (!ids.has(id)) refresh(id)
  }

  return {
    refresh,
    /** Throws for a chat whose file has nothing of what is known of it. */
    requireReadable(id: string): void {
      const file = files.find(id)
      if (!file || file.stamp === catalog().stamp(id)) return
      const known = catalog().get(id)?.summary
      if (!known || !hasContent(known)) return
      const found = foldFile(file)
      if (found && isEmptied(found.summary)) throw emptied()
    },
    /** At start and after a rebuild: clients fetch the whole list, so rows are not published one by one. */
    sweepQuietly(): void {
      isQuiet = true
      try {
        for (const _ of steps());
      } finally {
        isQuiet = false
      }
    },
    async sweep(): Promise<void> {
      for (const _ of steps()) await setImmediate()
    },
    /** Handles the changes the watch has seen since the last call. */
    catchUp(watch: Watch): void {
      const names = watch.takeChanged()
      if (names === null) {
        for (const _ of steps());
        return
      }
      for (const name of names) {
        const id = idOfName(name)
        if (id === undefined) continue
        refresh(id)
        if (name.endsWith('.json') && existsSync(files.jsonl(id))) resolveDuplicateFormats(id)
      }
    },
  }
}
export type CatalogSync = ReturnType<typeof createCatalogSync>
