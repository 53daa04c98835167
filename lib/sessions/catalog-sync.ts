/** Keeps the catalogue true to the files: whatever another program changed, added or removed is noticed before an answer. */
import { existsSync, readdirSync, renameSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { basename } from 'node:path'
import { messageOf, UserError } from '../errors.ts'
import { errorCode } from '../store/file-error.ts'
import { fileStamp } from '../store/journal.ts'
import type { Catalog } from './catalog.ts'
import { type Files, foldFile, idOfName, readHeader } from './files.ts'
import { finishConversion, moveConflictingFile, toEntries } from './legacy.ts'
import type { SessionsOptions } from './types.ts'
import type { Watch } from './watch.ts'
import { readWhole } from '../store/read-text.ts'

type CatalogSyncOptions = Pick<SessionsOptions, 'onRow' | 'onDeleted' | 'log'> & {
  files: Files
  catalog: () => Catalog
}

/** The main thread is never held longer by a sweep in the background. */
const SLICE_MS = 8

export const createCatalogSync = ({
  files,
  catalog,
  onRow,
  onDeleted,
  log,
}: CatalogSyncOptions) => {
  /** .json files that are no sessions, and such that a journal has overtaken: by name, with the state we judged. */
  const rejected = new Map<string, string>()
  /** Names that cannot be read, with the state they had when that was said. */
  const reportedUnreadable = new Map<string, string>()
  let isQuiet = false

  /** Both formats exist: a conversion was cut off, or another program writes the former format. The journal keeps the id. */
  const resolveDuplicateFormats = (id: string): void => {
    const json = files.json(id)
    const stamp = fileStamp(json)
    if (!stamp || rejected.get(json) === stamp || !fileStamp(files.jsonl(id))) return
    if (finishConversion(json, readHeader(files.jsonl(id)))) return
    const journal = foldFile({ id, path: files.jsonl(id), format: 'jsonl' })
    const aside = moveConflictingFile(id, journal?.folded.messages ?? [], (of, ending) =>
      files[ending](of),
    )
    if (aside === null) {
      rejected.set(json, stamp)
      log('a session exists in both formats; the journal holds all that the .json file says', {
        session_id: id,
      })
      return
    }
    log('a session was also written in the former format; it is kept as a session of its own', {
      session_id: id,
      other: aside,
    })
    refresh(aside)
  }

  const removeRow = (id: string): false => {
    if (catalog().stamp(id) !== undefined) {
      catalog().remove(id)
      onDeleted(id)
    }
    return false
  }

  /** One file that cannot be read must not hide the others, nor take the row it had. */
  const attempt = <T>(path: string, stamp: string, read: () => T): T | 'unreadable' => {
    try {
      return read()
    } catch (error) {
      if (errorCode(error) === '' && !(error instanceof UserError)) throw error
      if (reportedUnreadable.get(path) !== stamp) {
        reportedUnreadable.set(path, stamp)
        log('a session cannot be read', { name: basename(path), error: messageOf(error) })
      }
      return 'unreadable'
    }
  }

  /** A folder or a pipe by the name of a session: said once. */
  const reportNonFile = (name: string): void => {
    const path = files.path(name)
    if (reportedUnreadable.has(path)) return
    reportedUnreadable.set(path, '')
    log('a name among the sessions is not a file and is passed over', { name })
  }

  /** Brings the row of `id` up to its file. False when there is no such session (any more). */
  const refresh = (id: string): boolean => {
    const file = files.find(id)
    if (!file) return removeRow(id)
    if (file.stamp === catalog().stamp(id)) return true
    if (file.format === 'json' && rejected.get(file.path) === file.stamp) return removeRow(id)
    const result = attempt(file.path, file.stamp, () => {
      if (file.format === 'jsonl') resolveDuplicateFormats(id)
      return foldFile(file)
    })
    if (result === 'unreadable') return catalog().stamp(id) !== undefined
    if (!result) {
      rejected.set(file.path, file.stamp)
      log('a file among the sessions is not one', { name: `${id}.json` })
      return removeRow(id)
    }
    const { summary } = result
    const to = summary.renamedTo
    if (to !== null && to !== id && !existsSync(files.jsonl(to))) {
      // Killed between the line that says so and the rename.
      renameSync(file.path, files.jsonl(to))
      removeRow(id)
      refresh(to)
      return false
    }
    if (summary.bad > 0) {
      log('lines of a session could not be read and were skipped', {
        session_id: id,
        lines: summary.bad,
      })
    }
    const row = catalog().put(summary, file.stamp, true, result.usage)
    if (!isQuiet) onRow(row)
    return true
  }

  /** Looks at every file; yields between slices. */
  function* steps(): Generator<void> {
    const names = readdirSync(files.dir)
    const ids = new Set<string>()
    const known = catalog().stamps()
    yield
    let next = 0
    while (next < names.length) {
      const started = performance.now()
      catalog().batch(() => {
        for (; next < names.length && performance.now() - started < SLICE_MS; next += 1) {
          const id = idOfName(names[next] as string)
          if (id === undefined) continue
          const stamp = fileStamp(files.path(names[next] as string))
          // Both formats: the pair is looked at with the first of them.
          if (stamp === undefined) reportNonFile(names[next] as string)
          else if (!ids.has(id)) {
            ids.add(id)
            if (known.get(id) !== stamp) refresh(id)
          } else attempt(files.json(id), stamp, () => resolveDuplicateFormats(id))
        }
      })
      yield
    }
    for (const id of known.keys()) if (!ids.has(id)) refresh(id)
  }

  return {
    refresh,
    sweepNow(): void {
      for (const _ of steps());
    },
    /** At start and after a rebuild: nobody needs to hear of every row. */
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
    /** What the watch has seen since the last time. */
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
    /** The session a legacy file holds, as lines. */
    legacyEntries: (id: string) => toEntries(id, readWhole(files.json(id))),
  }
}
export type CatalogSync = ReturnType<typeof createCatalogSync>
