/** Reads the sessions that command-line programs recorded in state.db, with the directory each one worked in. */
import { asObject, asString } from '../../base/json.ts'
import type { Message } from '../../schema/message.ts'
import { readMessages } from './read-messages.ts'
import type { SessionSource } from './session-recorder.ts'
import { columnsOf, readState } from './state-db.ts'

export type RecordedEntry = {
  id: string
  title: string | null
  /** Empty when it was not recorded. */
  cwd: string
  /** Seconds since 1970. */
  updatedAt: number
}

type RecordedRow = {
  id: string
  title: string | null
  place: string | null
  config: string | null
  at: number
}

/** Enough for any list a person reads; older sessions can still be opened by id. */
const MAX_ENTRIES = 1_000

const cwdIn = (config: string | null): string => {
  try {
    return asString(asObject(JSON.parse(config ?? '{}')).cwd)
  } catch {
    // Written by another program.
    return ''
  }
}

/** Newest activity first; empty without a database. */
export const listRecorded = (
  file: string,
  addon: string | undefined,
  sources: readonly SessionSource[],
): RecordedEntry[] => {
  const rows =
    readState(file, addon, db => {
      const place = columnsOf(db, 'sessions').has('cwd') ? 's.cwd' : 'null'
      return db
        .prepare<SessionSource[], RecordedRow>(
          `select s.id, s.title, ${place} as place, s.model_config as config,
             coalesce((select max(m.timestamp) from messages m where m.session_id = s.id), s.started_at) as at
           from sessions s where s.source in (${sources.map(() => '?').join(', ')})
           and exists (select 1 from messages m where m.session_id = s.id)
           order by at desc, s.rowid desc limit ${MAX_ENTRIES}`,
        )
        .all(...sources)
    }) ?? []
  return rows.map(({ id, title, place, config, at }) => ({
    id,
    title,
    cwd: asString(place) || cwdIn(config),
    updatedAt: at,
  }))
}

/** A stored session to resume; undefined for an unknown id. */
export const readRecorded = (
  file: string,
  addon: string | undefined,
  id: string,
): { model: string | null; messages: Message[] } | undefined =>
  readState(file, addon, db => {
    const row = db
      .prepare<[string], { model: string | null }>('select model from sessions where id = ?')
      .get(id)
    return row && { model: row.model, messages: readMessages(db, id) }
  })

/** Whether the session comes from one of these programs. */
export const isFrom = (
  file: string,
  addon: string | undefined,
  id: string,
  sources: readonly SessionSource[],
): boolean => {
  const source = readState(file, addon, db =>
    db.prepare<[string], { source: string }>('select source from sessions where id = ?').get(id),
  )?.source
  return sources.some(each => each === source)
}
