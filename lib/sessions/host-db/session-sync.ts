/** Imports sessions of the host agent, and appends the messages the terminal adds to them later. */
import type { Clock } from '../../base/clock.ts'
import { missing } from '../../errors.ts'
import { cacheTokens } from '../../schema/usage.ts'
import type { SessionRow } from '../../schema/session.ts'
import type { NewEntry } from '../entries.ts'
import type { Sessions } from '../sessions.ts'
import { newestNumber, planSync, type SyncState } from './new-messages.ts'
import { isCompacted, readLineageTip, readMessages } from './read-messages.ts'
import { readRow, type RowOptions } from './session-rows.ts'
import { type Database, dbStamp, type HostHome, stateDbPath } from './state-db.ts'

const TITLE_CHARS = 64

/** What a session without a title is called when it is opened (contract §1.5); one from elsewhere, as the list calls it. */
export const untitledOf = ({ source_tag, title }: SessionRow): string =>
  source_tag === 'cli' ? 'CLI Session' : title

export type SessionSyncOptions = {
  sessions: Pick<Sessions, 'row' | 'load' | 'append' | 'adopt'>
  /** True while a turn runs: nothing may then be appended after its messages. */
  isActive: (sessionId: string) => boolean
  rowOptions: (home: HostHome) => RowOptions
  /** Undefined when the database is missing; throws when it cannot be read. */
  read: <T>(home: HostHome, work: (db: Database) => T) => T | undefined
  /** Undefined in both cases. */
  readIfAny: <T>(home: HostHome, work: (db: Database) => T) => T | undefined
  /** Seconds since 1970. */
  clock: Pick<Clock, 'now'>
}

export const createSessionSync = (options: SessionSyncOptions) => {
  const { sessions, isActive, rowOptions, read, readIfAny, clock } = options
  /** The database stamp each session was last synced with. */
  const syncedAt = new Map<string, string>()

  const importNew = (home: HostHome, id: string): void => {
    const found = read(home, db => {
      const stored = readRow(db, id, rowOptions(home))
      return stored && { ...stored, messages: readMessages(db, id) }
    })
    if (!found) throw missing('Session not found in CLI store', { code: 'session_not_found' })
    const { row, hasTitle, messages } = found
    const first = messages.find(({ role }) => role === 'user')
    const firstText = typeof first?.content === 'string' ? first.content.trim() : ''
    const beginning = [...firstText.replace(/\s+/g, ' ')].slice(0, TITLE_CHARS).join('')
    const title = hasTitle ? row.title : beginning || untitledOf(row)
    const state: SyncState = { seen: newestNumber(messages), count: messages.length, title }
    const meta = {
      title,
      // A title from the host agent is final: no model generates one for it here.
      ...(hasTitle ? { llm_title_generated: true } : {}),
      ...(row.archived ? { archived: true } : {}),
      _cli: state,
      workspace: row.workspace,
      model: row.model,
      profile: home.name,
      created_at: row.created_at,
      updated_at: row.updated_at,
      // Usage continues from these totals: `mirror` overwrites the ones in the database.
      input_tokens: row.input_tokens,
      output_tokens: row.output_tokens,
      estimated_cost: row.estimated_cost,
      ...cacheTokens(row.cache_read_tokens ?? 0, row.cache_write_tokens ?? 0),
      is_cli_session: true,
      _cli_origin: id,
      source_tag: row.source_tag,
    }
    if (!sessions.row(id)) return void sessions.adopt(id, meta, messages)
    // An empty session of ours has this id: fill it.
    const { created_at: _, updated_at: __, ...patch } = meta
    sessions.append(id, [
      { t: 'meta', patch },
      ...messages.map(({ id: ___, ...message }): NewEntry => ({ t: 'message', message })),
    ])
  }

  /**
   * Appends what the terminal added since the last sync; see `planSync`. Does nothing while the database is unchanged. False: not yet,
   * because a turn runs or the database cannot be read.
   */
  const refresh = (home: HostHome, id: string): boolean => {
    const row = sessions.row(id)
    if (!row?.is_cli_session || isActive(id)) return false
    const stamp = dbStamp(stateDbPath(home))
    if (stamp === '' || (stamp !== undefined && syncedAt.get(id) === stamp)) return true
    const transcript = readIfAny(home, db => {
      const tip = readLineageTip(db, id)
      const stored = readRow(db, tip, rowOptions(home))
      return {
        messages: readMessages(db, tip),
        title: stored?.hasTitle ? stored.row.title : '',
        compacted: isCompacted(db, id),
      }
    })
    if (!transcript) return false
    const own = sessions.load(id)
    const planned = planSync(own, transcript, clock.now())
    // A write converts a session of the former format; to open it changes nothing, unless there are messages to add.
    const isUnchanged = own.format === 'json' && planned.every(({ t }) => t !== 'message')
    const entries = isUnchanged ? [] : planned
    // Quiet: the session does not move up in the list.
    if (entries.length > 0) sessions.append(id, entries, { quiet: true })
    if (stamp !== undefined) syncedAt.set(id, stamp)
    return true
  }

  return {
    refresh,
    /** Copies a session into our store under the same id; one that is imported already is synced. */
    importSession(home: HostHome, id: string): { id: string; imported: boolean } {
      const own = sessions.row(id)
      const isEmpty = own?.message_count === 0 && own.title === 'Untitled'
      if (own && !isEmpty) refresh(home, own.session_id)
      else importNew(home, id)
      return { id: own?.session_id ?? id, imported: !own || isEmpty }
    },
  }
}
