/** Writes rows of the session catalog and numbers their changes. */
import type { SessionRow } from '../schema/session.ts'
import type { Stamp } from '../store/journal.ts'
import type { CatalogDb } from './catalog-db.ts'
import { foldText } from './catalog-schema.ts'
import type { Summary } from './fold.ts'
import { isEmptyRow, type LiveState, toRow, UNTITLED } from './list-row.ts'
import { sourceOf, type UsageRow } from './usage.ts'

export type CatalogEntry = { summary: Summary; stamp: Stamp; live: LiveState; seq: number }

/** Numbers of rows are reserved in the database, so many at a time: none is given twice, also after a kill. */
const RESERVED = 1_000

/** Of more, only the newer half is kept. */
const MAX_CHANGES = 1_000

const toMs = ({ updated_at }: SessionRow): number => Math.round(updated_at * 1000)

const NO_LIVE_STATE: LiveState = { active_stream_id: null, waiting: null }

/** A turn runs, or a question is open, such as a plan whose turn was ended by a restart. */
const isUnfinished = ({ turn, questions }: Summary): boolean =>
  turn?.how === null || questions.length > 0

export type StoredEntry = {
  summary: string
  stamp: Stamp
  seq: number
  active_stream_id: string | null
  waiting: number | null
}

/** Parsed for each caller, who may change it. */
export const toEntry = (stored: StoredEntry | undefined): CatalogEntry | undefined => {
  if (!stored) return undefined
  const { summary, stamp, seq, active_stream_id, waiting } = stored
  const live = { active_stream_id, waiting }
  return { summary: JSON.parse(summary) as Summary, stamp, live, seq }
}

export const createCatalogRows = (db: CatalogDb, redact: (text: string) => string) => {
  let version = 0
  let seq = 0
  /** The times of the rows of the last changes, before and after them; the change to a version is followed by the next one. */
  let changes: { version: number; ms: number }[] = []
  /** Changes up to this version are not in it. */
  let forgotten = 0

  const change = (...times: (number | undefined)[]): void => {
    version += 1
    for (const ms of times) if (ms !== undefined) changes.push({ version, ms })
    if (changes.length <= MAX_CHANGES) return
    forgotten = changes[changes.length >> 1]!.version
    changes = changes.filter(each => each.version > forgotten)
  }
  const changeAll = (): void => {
    version += 1
    forgotten = version
    changes = []
  }

  let rowSeq = 0
  let reserved = 0
  const nextRowSeq = (): number => {
    if (rowSeq >= reserved) {
      reserved = rowSeq + RESERVED
      db.q.setAbout.run('row_seq', String(reserved))
    }
    return ++rowSeq
  }
  const numbered = (row: SessionRow): SessionRow => ({ ...row, seq: nextRowSeq() })

  const get = (id: string): CatalogEntry | undefined => toEntry(db.q.get.get(id))

  const setLive = (id: string, live: LiveState): SessionRow | undefined =>
    db.transaction(() => {
      const stored = get(id)
      if (!stored) return undefined
      const row = numbered(toRow(stored.summary, live, redact))
      db.q.setLive.run(live.active_stream_id, live.waiting, JSON.stringify(row), id)
      change(toMs(row))
      return row
    })

  const dropDerived = (id: string): void => {
    db.q.dropUsage.run(id)
    db.q.dropMarks.run(id)
    db.q.dropAliases.run(id)
  }

  return {
    /** Rises with every change of any row; part of the list's ETag. */
    get version() {
      return version
    },
    setLive,
    /**
     * The times of the rows that were changed after that version, before and after each change, in milliseconds since 1970;
     * null when it is not known.
     */
    changedSince: (since: number): Set<number> | null =>
      since < forgotten
        ? null
        : new Set(changes.filter(each => each.version > since).map(({ ms }) => ms)),
    /** What was read may have been undone. */
    invalidate(): void {
      changeAll()
      reserved = 0
    },

    /** Call before the first use of a database that was opened. */
    init(): void {
      // The highest number may belong to a deleted row. It must not be used again.
      seq = Math.max(db.q.lastSeq.get()?.seq ?? 0, Number(db.q.about.get('seq')?.value ?? 0))
      rowSeq = reserved = Number(db.q.about.get('row_seq')?.value ?? 0)
      // A stream does not survive its process.
      for (const { id } of db.q.live.all()) setLive(id, NO_LIVE_STATE)
    },

    /** Call when the database was replaced by an empty one. */
    reset(): void {
      changeAll()
      seq = 0
      reserved = 0
    },

    /**
     * Writes the row of a session. `foreign`: the file changed in another way than by our appending, so marks, aliases
     * and usage of it are dropped. `usage`: of the turns that ended since the last call, or of all when `foreign`.
     */
    put: (
      summary: Summary,
      stamp: Stamp,
      foreign: boolean,
      usage: readonly UsageRow[] = [],
    ): SessionRow =>
      db.transaction(() => {
        const { q } = db
        const { id } = summary
        const old = q.liveOf.get(id)
        const row = numbered(toRow(summary, old ?? NO_LIVE_STATE, redact))
        seq += 1
        change(old?.updated_ms, toMs(row))
        q.put.run({
          id,
          updated_ms: toMs(row),
          listed: isEmptyRow(row) ? 0 : 1,
          profile: row.profile,
          count: row.message_count,
          untitled: row.title === UNTITLED ? 1 : 0,
          draft: summary.draft ? 1 : 0,
          open_turn: isUnfinished(summary) ? 1 : 0,
          title: foldText(row.title),
          stamp,
          seq,
          // Never a former number: a search index built from a deleted catalog would take the session for indexed.
          epoch: old && !foreign ? old.epoch : Math.max(seq, (old?.epoch ?? 0) + 1),
          row: JSON.stringify(row),
        })
        q.putFold.run(id, JSON.stringify(summary))
        q.removeTombstone.run(id)
        if (foreign) dropDerived(id)
        const from = { id, profile: row.profile, source: sourceOf(summary.meta) }
        for (const each of usage) q.putUsage.run({ ...each, ...from })
        for (const alias of summary.aliases) if (alias !== id) q.putAlias.run(alias, id)
        return row
      }),

    /** Deletes a row and adds a tombstone: the text must also leave the search index. Returns the number of the deletion. */
    remove: (id: string): number =>
      db.transaction(() => {
        change(db.q.liveOf.get(id)?.updated_ms)
        db.q.remove.run(id)
        db.q.removeFold.run(id)
        dropDerived(id)
        db.q.addTombstone.run(id)
        db.q.setAbout.run('seq', String(seq))
        return nextRowSeq()
      }),
  }
}
