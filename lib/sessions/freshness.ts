/** Keeps the catalogue true to the files: whatever another program changed, added or removed is noticed before an answer. */
import { existsSync, readdirSync, readFileSync, renameSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { stampOf } from '../store/journal.ts'
import type { Catalog } from './catalog.ts'
import { type Files, foldFile, idOfName, readHeader } from './files.ts'
import { finishConversion, takeAside, toEntries } from './legacy.ts'
import type { SessionsOptions } from './types.ts'
import type { Watch } from './watch.ts'

type Needs = Pick<SessionsOptions, 'onRow' | 'onGone' | 'log'> & {
  files: Files
  catalog: () => Catalog
}

/** The main thread is never held longer by a sweep in the background. */
const SLICE_MS = 8

export const createFreshness = ({ files, catalog, onRow, onGone, log }: Needs) => {
  /** .json files that are no sessions, and such that a journal has overtaken: by name, with the state we judged. */
  const judged = new Map<string, string>()
  let quiet = false

  /** Both formats exist: a conversion was cut off, or another program writes the former format. The journal keeps the id. */
  const settlePair = (id: string): void => {
    const json = files.json(id)
    const stamp = stampOf(json)
    if (!stamp || judged.get(json) === stamp) return
    if (finishConversion(json, readHeader(files.jsonl(id)))) return
    const journal = foldFile({ id, path: files.jsonl(id), format: 'jsonl' })
    const aside = takeAside(id, journal?.folded.messages ?? [], (of, ending) => files[ending](of))
    if (aside === null) {
      judged.set(json, stamp)
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

  const gone = (id: string): false => {
    if (catalog().stamp(id) !== undefined) {
      catalog().remove(id)
      onGone(id)
    }
    return false
  }

  /** Brings the row of `id` up to its file. False when there is no such session (any more). */
  const refresh = (id: string): boolean => {
    const file = files.find(id)
    if (!file) return gone(id)
    if (file.stamp === catalog().stamp(id)) return true
    if (file.format === 'json' && judged.get(file.path) === file.stamp) return gone(id)
    if (file.format === 'jsonl') settlePair(id)
    const result = foldFile(file)
    if (!result) {
      judged.set(file.path, file.stamp)
      log('a file among the sessions is not one', { name: `${id}.json` })
      return gone(id)
    }
    const { summary } = result
    const to = summary.renamedTo
    if (to !== null && to !== id && !existsSync(files.jsonl(to))) {
      // Killed between the line that says so and the rename.
      renameSync(file.path, files.jsonl(to))
      gone(id)
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
    if (!quiet) onRow(row)
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
          if (ids.has(id)) settlePair(id)
          else {
            ids.add(id)
            const stamp = known.get(id)
            if (stamp === undefined || stampOf(files.path(names[next] as string)) !== stamp)
              refresh(id)
          }
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
      quiet = true
      try {
        for (const _ of steps());
      } finally {
        quiet = false
      }
    },
    async sweep(): Promise<void> {
      for (const _ of steps()) await setImmediate()
    },
    /** What the watch has seen since the last time. */
    catchUp(watch: Watch): void {
      const names = watch.take()
      if (names === null) {
        for (const _ of steps());
        return
      }
      for (const name of names) {
        const id = idOfName(name)
        if (id === undefined) continue
        refresh(id)
        if (name.endsWith('.json') && existsSync(files.jsonl(id))) settlePair(id)
      }
    },
    /** The session a legacy file holds, as lines. */
    legacyEntries: (id: string) => toEntries(id, readFileSync(files.json(id))),
  }
}
export type Freshness = ReturnType<typeof createFreshness>
