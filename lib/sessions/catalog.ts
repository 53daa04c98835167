/** `catalog.db`: one row per session, so that lists need no files. A cache: deleted, corrupt or old, it is built anew. */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { uptime } from 'node:os'
import { fileStamp, type Stamp } from '../store/journal.ts'
import {
  type Database,
  isUnwritable,
  isCorrupt,
  openDatabase,
  removeDatabase,
} from '../store/sqlite.ts'
import type { SessionRow } from '../schema/session.ts'
import { messageOf } from '../errors.ts'
import { foldText, MIGRATIONS, PRAGMAS } from './catalog-schema.ts'
import { prepare } from './catalog-statements.ts'
import type { Mark } from './files.ts'
import type { Summary } from './fold.ts'
import { isEmptyRow, type LiveState, toRow, UNTITLED } from './list-row.ts'
import { sourceOf, type UsageRow } from './usage.ts'

export type CatalogOptions = {
  file: string
  addon?: string | undefined
  redact: (text: string) => string
  log: (line: string, extra?: Record<string, unknown>) => void
  /** Called when an empty catalogue took the place of a lost one; must fill it from the files. */
  rebuild: () => void
  /** Tells one run of the machine from the next; tests pass their own. */
  bootId?: string
  /** Tests make the file small with it. */
  pragmas?: readonly string[] | undefined
}

export type CatalogEntry = { summary: Summary; stamp: Stamp; live: LiveState; seq: number }

/** Without fsync a power cut may ruin the file, so it is believed only within one run of the machine or after a clean close. */
export const readBootId = (): string => {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
  } catch {
    // Not Linux: the minute the machine started in serves as well.
    return `start-${Math.round((Date.now() / 1000 - uptime()) / 60)}`
  }
}

const NO_LIVE_STATE: LiveState = { active_stream_id: null, waiting: null }

type OpenOptions = { addon: string | undefined; boot: string; pragmas: readonly string[] }

const IN_MEMORY = ':memory:'

const openCatalogDb = (file: string, { addon, boot, pragmas }: OpenOptions): Database => {
  const own = file === IN_MEMORY ? [] : pragmas
  const open = () =>
    openDatabase(file, { migrations: MIGRATIONS, pragmas: [...PRAGMAS, ...own], addon })
  let db: Database
  try {
    db = open()
  } catch {
    // Ruined, or of a newer version: it is only a cache.
    removeDatabase(file)
    db = open()
  }
  const about = new Map<string, string>()
  try {
    for (const row of db.prepare<[], { key: string; value: string }>('select * from about').all()) {
      about.set(row.key, row.value)
    }
  } catch (error) {
    if (!isCorrupt(error)) throw error
    about.set('boot', 'ruined')
  }
  const known = about.get('boot')
  if (known !== undefined && known !== boot && about.get('clean') !== '1') {
    db.close()
    removeDatabase(file)
    db = open()
    about.clear()
  }
  const set = db.prepare('insert or replace into about values (?, ?)')
  set.run('boot', boot)
  set.run('clean', '0')
  if (!about.has('instance')) set.run('instance', randomBytes(8).toString('hex'))
  return db
}

export const createCatalog = (options: CatalogOptions) => {
  const { file, addon, redact, log, rebuild, bootId = readBootId() } = options
  const how: OpenOptions = { addon, boot: bootId, pragmas: options.pragmas ?? [] }
  let isInMemory = false
  const openAnywhere = (): Database => {
    try {
      if (!isInMemory) return openCatalogDb(file, how)
    } catch (error) {
      if (!isUnwritable(error)) throw error
      isInMemory = true
      log(
        'the session catalogue cannot be kept on the disk; until the next start it is kept in memory',
        {
          file,
          error: messageOf(error),
        },
      )
    }
    return openCatalogDb(IN_MEMORY, how)
  }
  let db = openAnywhere()
  let q = prepare(db)
  /** Rises with every change of any row; part of the list's ETag. */
  let version = 0
  let seq = 0
  let depth = 0

  const settle = (): void => {
    // The highest number may have been a row's that is gone: it must not be given again.
    seq = Math.max(q.lastSeq.get()?.seq ?? 0, Number(q.about.get('seq')?.value ?? 0))
    // No stream outlives its process.
    for (const { id } of q.live.all()) setLive(id, NO_LIVE_STATE)
  }

  /** What only this process knows; nothing where the file does not even say that. */
  const lives = (): [string, LiveState][] => {
    try {
      return q.live.all().flatMap(({ id }): [string, LiveState][] => {
        const live = q.liveOf.get(id)
        return live ? [[id, live]] : []
      })
    } catch {
      // The rows are gone with the file; turns that run say it again with their next event.
      return []
    }
  }

  const replace = (): void => {
    db.close()
    if (!isInMemory) removeDatabase(file)
    db = openAnywhere()
    q = prepare(db)
    version += 1
    seq = 0
  }

  /** Takes a new, empty catalogue and has it filled. */
  const renew = (reason: string): void => {
    log('the session catalogue is built anew', { reason })
    const running = lives()
    replace()
    rebuild()
    for (const [id, live] of running) setLive(id, live)
  }

  /** The disk takes no more: what can be built from the files is kept where there is room. */
  const moveToMemory = (error: unknown): void => {
    isInMemory = true
    renew(`${messageOf(error)}; until the next start it is kept in memory`)
  }

  /** Runs `work`; when the database turns out to be ruined, builds it anew and runs it once more (the outermost call does). */
  const guard = <T>(work: () => T): T => {
    depth += 1
    try {
      return work()
    } catch (error) {
      if (depth > 1 || isInMemory || !(isCorrupt(error) || isUnwritable(error))) throw error
      try {
        if (!isCorrupt(error)) throw error
        renew(messageOf(error))
        return work()
      } catch (again) {
        if (isInMemory || !isUnwritable(again)) throw again
        moveToMemory(again)
        return work()
      }
    } finally {
      depth -= 1
    }
  }

  const transaction = <T>(work: () => T): T => (db.inTransaction ? work() : db.transaction(work)())

  const get = (id: string): CatalogEntry | undefined => {
    const found = q.get.get(id)
    if (!found) return undefined
    const { summary, stamp, seq: at, active_stream_id, waiting } = found
    const live = { active_stream_id, waiting }
    return { summary: JSON.parse(summary) as Summary, stamp, live, seq: at }
  }

  const setLive = (id: string, live: LiveState): SessionRow | undefined =>
    transaction(() => {
      const stored = get(id)
      if (!stored) return undefined
      const row = toRow(stored.summary, live, redact)
      q.setLive.run(live.active_stream_id, live.waiting, JSON.stringify(row), id)
      version += 1
      return row
    })

  /** `foreign`: the file did not merely grow by what we appended, so nothing derived from it holds any more. */
  const put = (
    summary: Summary,
    stamp: Stamp,
    foreign: boolean,
    usage: readonly UsageRow[] = [],
  ): SessionRow =>
    transaction(() => {
      const { id } = summary
      const old = q.liveOf.get(id)
      const row = toRow(summary, old ?? NO_LIVE_STATE, redact)
      seq += 1
      version += 1
      q.put.run({
        id,
        updated_ms: Math.round(row.updated_at * 1000),
        listed: isEmptyRow(row) ? 0 : 1,
        profile: row.profile,
        count: row.message_count,
        untitled: row.title === UNTITLED ? 1 : 0,
        draft: summary.draft ? 1 : 0,
        open_turn: summary.turn !== null && summary.turn.how === null ? 1 : 0,
        title: foldText(row.title),
        stamp,
        seq,
        // Never a number it had before: an index that was fed from an erased catalogue must not take it for known.
        epoch: old && !foreign ? old.epoch : Math.max(seq, (old?.epoch ?? 0) + 1),
        row: JSON.stringify(row),
      })
      q.putFold.run(id, JSON.stringify(summary))
      q.removeTombstone.run(id)
      if (foreign) {
        q.dropUsage.run(id)
        q.dropMarks.run(id)
        q.dropAliases.run(id)
      }
      const from = { id, profile: row.profile, source: sourceOf(summary.meta) }
      for (const each of usage) q.putUsage.run({ ...each, ...from })
      for (const alias of summary.aliases) if (alias !== id) q.putAlias.run(alias, id)
      return row
    })

  /** Remembers that its words must also leave the search index. */
  const remove = (id: string): void =>
    transaction(() => {
      version += 1
      q.remove.run(id)
      q.removeFold.run(id)
      q.dropUsage.run(id)
      q.dropMarks.run(id)
      q.dropAliases.run(id)
      q.addTombstone.run(id)
      q.setAbout.run('seq', String(seq))
    })

  try {
    settle()
  } catch (error) {
    if (!isCorrupt(error) && !isUnwritable(error)) throw error
    if (isUnwritable(error) && !isCorrupt(error)) isInMemory = true
    // Whoever opens a catalogue looks through the files next, so an empty one will do.
    replace()
    settle()
  }

  return {
    file,
    /** No other thread can read it then. */
    get isInMemory() {
      return isInMemory
    },
    get version() {
      return version
    },
    get: (id: string) => guard(() => get(id)),
    stamp: (id: string): Stamp | undefined => guard(() => q.stamp.get(id)?.stamp),
    rowText: (id: string): string | undefined => guard(() => q.row.get(id)?.row),
    alias: (old: string): string | undefined => guard(() => q.alias.get(old)?.id),
    /** `usage`: of the turns that ended since the last time, or of all when `foreign`. */
    put: (...given: Parameters<typeof put>) => guard(() => put(...given)),
    usage: (since: number) =>
      guard(() => ({
        buckets: q.usage.all(since),
        sessions: q.usageSessions.get(since)?.count ?? 0,
      })),
    remove: (id: string) => guard(() => remove(id)),
    setLive: (id: string, live: LiveState) => guard(() => setLive(id, live)),
    liveOf: (id: string): LiveState | undefined => guard(() => q.liveOf.get(id)),
    stamps: (): Map<string, Stamp> =>
      guard(() => new Map(q.stamps.all().map(({ id, stamp }) => [id, stamp]))),
    openTurns: (): Summary[] =>
      guard(() => q.openTurns.all().map(({ summary }) => JSON.parse(summary) as Summary)),
    emptySessions: (anyTitle: boolean): string[] =>
      guard(() => q.empties.all(anyTitle ? 0 : 1).map(({ id }) => id)),
    idsByProject: (project: string): string[] =>
      guard(() => q.ofProject.all(project).map(({ id }) => id)),
    titles: (words: readonly string[], limit: number, profile: string | null): string[] =>
      guard(() =>
        q.titles.all(JSON.stringify(words), profile, profile, limit).map(({ row }) => row),
      ),
    /** `scheduled` false: without the runs of scheduled tasks that neither wait for a person nor are pinned. */
    page: (
      after: { ms: number; id: string } | null,
      limit: number,
      profile: string | null,
      scheduled = true,
    ) =>
      guard(() => {
        const { ms, id } = after ?? { ms: Number.MAX_SAFE_INTEGER, id: '' }
        return profile === null
          ? q[scheduled ? 'page' : 'personPage'].all(ms, ms, id, limit)
          : q[scheduled ? 'profilePage' : 'profilePersonPage'].all(profile, ms, ms, id, limit)
      }),
    pinnedBelow: ({ ms, id }: { ms: number; id: string }, limit: number, profile: string | null) =>
      guard(() => q.pinned.all(profile, profile, ms, ms, id, limit)),
    listJson: (profile: string | null): Buffer =>
      guard(
        () =>
          (profile === null ? q.whole.get() : q.wholeProfile.get(profile))?.body ?? Buffer.alloc(0),
      ),
    lastMark: (id: string): Mark | undefined => guard(() => q.lastMark.get(id)),
    markBefore: (id: string, n: number): Mark | undefined => guard(() => q.markBefore.get(id, n)),
    addMarks: (id: string, marks: Iterable<Mark>) =>
      guard(() =>
        transaction(() => {
          for (const { n, offset, seen } of marks) q.putMark.run(id, n, offset, seen)
        }),
      ),
    dropMarks: (id: string) => guard(() => q.dropMarks.run(id)),
    tombstones: (): string[] => guard(() => q.tombstones.all().map(({ id }) => id)),
    clearTombstones: (ids: readonly string[]) =>
      guard(() => {
        for (const id of ids) q.removeTombstone.run(id)
      }),
    batch: <T>(work: () => T): T => guard(() => transaction(work)),
    /** Moves every byte out of the write-ahead log, so that what was erased is gone from it too. */
    truncateWal: () => guard(() => db.pragma('wal_checkpoint(TRUNCATE)')),
    /** Builds anew when the file was deleted behind us: others that open it by name would find nothing. */
    verify: () => {
      if (!isInMemory && fileStamp(file) === undefined) renew('the file is gone')
    },
    close() {
      if (!db.open) return
      try {
        db.prepare("update about set value = '1' where key = 'clean'").run()
        db.pragma('wal_checkpoint(TRUNCATE)')
      } catch (error) {
        // Then it is not clean, and the next start decides.
        log('the session catalogue was not closed cleanly', { error: messageOf(error) })
      }
      db.close()
    },
  }
}
export type Catalog = ReturnType<typeof createCatalog>
