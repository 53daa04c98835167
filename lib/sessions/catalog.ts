/** The session catalog (`catalog.db`): one row per session, so that lists read no session files. A cache that can be rebuilt at any time. */
import { toSeconds } from '../base/clock.ts'
import type { SessionRow } from '../schema/session.ts'
import type { TurnUsage } from '../schema/usage.ts'
import { fileStamp, type Stamp } from '../store/journal.ts'
import { createCatalogDb } from './catalog-db.ts'
import { type CatalogEntry, createCatalogRows, toEntry } from './catalog-rows.ts'
import type { Mark } from './files.ts'
import type { Summary } from './fold.ts'
import type { LiveState } from './list-row.ts'
import type { UsageRow } from './usage.ts'

export type CatalogOptions = {
  file: string
  addon?: string | undefined
  redact: (text: string) => string
  log: (line: string, extra?: Record<string, unknown>) => void
  /** Called when an empty catalog has replaced the old one. Must fill it from the session files. */
  rebuild: () => void
  /** Identifies one boot of the machine; tests pass their own. */
  bootId?: string | undefined
  /** Extra pragmas; tests limit the size of the file with them. */
  pragmas?: readonly string[] | undefined
}

export type Catalog = ReturnType<typeof createCatalog>

/** Rows of sessions that are being read. */
const MAX_KEPT_ROWS = 64

export const createCatalog = (options: CatalogOptions) => {
  const { file, redact, rebuild } = options
  const db = createCatalogDb({
    ...options,
    addon: options.addon,
    onReplaced: () => rows.reset(),
    refill: live => {
      rebuild()
      for (const [id, state] of live) rows.setLive(id, state)
    },
  })
  const rows = createCatalogRows(db, redact)
  const { transaction } = db
  const guard = <T>(work: () => T): T => {
    try {
      return db.guard(work)
    } catch (error) {
      rows.invalidate()
      throw error
    }
  }

  /** A request reads the same row several times, and so does the next one; all changes are counted. */
  const kept = <T>(read: (id: string) => T): ((id: string) => T) => {
    const found = new Map<string, T>()
    let at = rows.version
    return id => {
      if (at !== rows.version || found.size >= MAX_KEPT_ROWS) found.clear()
      const known = found.get(id)
      if (known !== undefined) return known
      const value = guard(() => read(id))
      // Read after the query, which may have replaced the database.
      at = rows.version
      if (value !== undefined) found.set(id, value)
      return value
    }
  }
  const stored = kept(id => db.q.get.get(id))

  try {
    rows.init()
  } catch (error) {
    // Empty is fine: the caller compares the catalog with the files next.
    db.replaceAfter(error)
    rows.init()
  }

  return {
    file,
    /** The search worker cannot read it then. */
    get isInMemory() {
      return db.isInMemory
    },
    get version() {
      return rows.version
    },
    get: (id: string): CatalogEntry | undefined => toEntry(stored(id)),
    stamp: kept(id => db.q.stamp.get(id)?.stamp),
    rowText: kept(id => db.q.row.get(id)?.row),
    profileOf: (id: string): string | undefined => guard(() => db.q.profileOf.get(id)?.profile),
    alias: (old: string): string | undefined => guard(() => db.q.alias.get(old)?.id),
    /** See `createCatalogRows`. */
    put: (
      summary: Summary,
      stamp: Stamp,
      foreign: boolean,
      usage?: readonly UsageRow[],
    ): SessionRow => guard(() => rows.put(summary, stamp, foreign, usage)),
    remove: (id: string): number => guard(() => rows.remove(id)),
    setLive: (id: string, live: LiveState) => guard(() => rows.setLive(id, live)),
    liveOf: (id: string): LiveState | undefined => guard(() => db.q.liveOf.get(id)),
    /** Usage since this time (milliseconds since 1970), by quarter of an hour. */
    usage: (since: number, profiles: readonly string[] | null) =>
      guard(() => {
        const only = profiles && JSON.stringify(profiles)
        return {
          buckets: db.q.usage
            .all(toSeconds(since))
            .filter(({ profile }) => profiles === null || profiles.includes(profile)),
          sessions: db.q.usageSessions.get(toSeconds(since), only, only)?.count ?? 0,
        }
      }),
    /** Usage of a session's turns that ended between two line numbers. */
    turnUsage: (id: string, after: number, before: number): TurnUsage[] =>
      guard(() => db.q.turnUsage.all(id, after, before)),
    stamps: (): Map<string, Stamp> =>
      guard(() => new Map(db.q.stamps.all().map(({ id, stamp }) => [id, stamp]))),
    openTurns: (): Summary[] =>
      guard(() => db.q.openTurns.all().map(({ summary }) => JSON.parse(summary) as Summary)),
    /** Rows of sessions whose last turn failed or was interrupted, newest first. */
    troubled: (sinceMs: number, limit: number): string[] =>
      guard(() => db.q.troubled.all(sinceMs, limit).map(({ row }) => row)),
    /** Ids of sessions without messages, draft or turn: untitled ones, or with any title. */
    emptySessions: (anyTitle: boolean): string[] =>
      guard(() => db.q.empties.all(anyTitle ? 0 : 1).map(({ id }) => id)),
    idsByProject: (project: string): string[] =>
      guard(() => db.q.ofProject.all(project).map(({ id }) => id)),
    projectsOf: (profiles: readonly string[]): string[] =>
      guard(() => db.q.projectsOf.all(JSON.stringify(profiles)).map(({ id }) => id)),
    titles: (words: readonly string[], limit: number, profile: string | null): string[] =>
      guard(() =>
        db.q.titles.all(JSON.stringify(words), profile, profile, limit).map(({ row }) => row),
      ),
    names: (profile: string, limit: number) => guard(() => db.q.names.all(profile, limit)),
    /** `scheduled` false: without runs of scheduled tasks, except those that are pinned or wait for the user. */
    page: (
      after: { ms: number; id: string } | null,
      limit: number,
      profile: string | null,
      scheduled = true,
    ) =>
      guard(() => {
        const { ms, id } = after ?? { ms: Number.MAX_SAFE_INTEGER, id: '' }
        return profile === null
          ? db.q[scheduled ? 'page' : 'personPage'].all(ms, ms, id, limit)
          : db.q[scheduled ? 'profilePage' : 'profilePersonPage'].all(profile, ms, ms, id, limit)
      }),
    pinnedBelow: ({ ms, id }: { ms: number; id: string }, limit: number, profile: string | null) =>
      guard(() => db.q.pinned.all(profile, profile, ms, ms, id, limit)),
    /** Rows that were changed after one time and up to another (milliseconds since 1970): JSON with commas between them. */
    span: (profile: string | null, after: number, upTo: number): Buffer =>
      guard(
        () =>
          (profile === null
            ? db.q.span.get(after, upTo)
            : db.q.profileSpan.get(after, upTo, profile)
          )?.body ?? Buffer.alloc(0),
      ),
    /** The times of every `step`th row, newest first. */
    times: (profile: string | null, step: number): number[] =>
      guard(() =>
        (profile === null ? db.q.times.all(step) : db.q.profileTimes.all(profile, step)).map(
          ({ ms }) => ms,
        ),
      ),
    changedSince: rows.changedSince,
    lastMark: (id: string): Mark | undefined => guard(() => db.q.lastMark.get(id)),
    markBefore: (id: string, n: number): Mark | undefined =>
      guard(() => db.q.markBefore.get(id, n)),
    addMarks: (id: string, marks: Iterable<Mark>): void =>
      guard(() =>
        transaction(() => {
          for (const { n, offset, seen } of marks) db.q.putMark.run(id, n, offset, seen)
        }),
      ),
    dropMarks: (id: string) => guard(() => db.q.dropMarks.run(id)),
    /** Deleted sessions whose text may still be in the search index. */
    tombstones: (): string[] => guard(() => db.q.tombstones.all().map(({ id }) => id)),
    clearTombstones: (ids: readonly string[]): void =>
      guard(() => {
        for (const id of ids) db.q.removeTombstone.run(id)
      }),
    /** Runs `work` in one transaction. */
    batch: <T>(work: () => T): T => guard(() => transaction(work)),
    truncateWal: () => guard(db.truncateWal),
    /** Rebuilds the catalog when its file was deleted while it was open: the search worker opens it by name. */
    verify: (): void => {
      if (!db.isInMemory && fileStamp(file) === undefined) db.rebuild('the file was deleted')
    },
    close: (): void => db.close(),
  }
}
