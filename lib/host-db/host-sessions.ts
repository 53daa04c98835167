/** The agent's command line and this service share a home: its sessions are listed, read, taken over, deleted and brought back. */
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { messageOf, missing } from '../errors.ts'
import { SESSION_ID } from '../schema/ids.ts'
import type { Message } from '../schema/message.ts'
import type { SessionRow } from '../schema/session.ts'
import type { NewEntry } from '../sessions/entries.ts'
import type { Sessions } from '../sessions/types.ts'
import { writeAtomic } from '../store/atomic-write.ts'
import { type MessageQuery, findMessages, type FoundMessage } from './search-messages.ts'
import { mirrorUsage } from './usage-mirror.ts'
import { type SyncState, newestNumber, planSync } from './new-messages.ts'
import { isCompacted, readMessages, readLineageTip } from './read-messages.ts'
import { deleteSession, formatDump, parseDump, restoreDump, readDump } from './session-dump.ts'
import { readRow, readRows } from './session-rows.ts'
import {
  type HostHome,
  type Database,
  readState,
  dbStamp,
  stateDbPath,
  writeState,
} from './state-db.ts'
import { readWholeText } from '../store/read-text.ts'

export type HostSessionsOptions = {
  sessions: Pick<Sessions, 'row' | 'load' | 'append' | 'adopt'>
  /** No turn may run while messages are added behind it. */
  isActive: (sessionId: string) => boolean
  lastWorkspace: (home: HostHome) => string
  redact: (text: string) => string
  redactValue: <T>(value: T) => T
  trashDir: string
  /** Seconds since 1970. */
  now: () => number
  log: (line: string, extra?: Record<string, unknown>) => void
  /** Rows of a home may have changed by what we did. */
  onChange: (home: HostHome) => void
  addon?: string | undefined
}

/** The list of one home as it stood at `stamp`; the same array as long as nothing changed. */
type Seen = {
  stamp: string | undefined
  workspace: string
  text: string
  rows: SessionRow[]
  problem: string | null
}

/** No session's own file in the trash can have this name: those begin with an id and a full stop. */
const TAKEN = 'state-db-rows'
const TITLE_CHARS = 64
/** How many conversations are looked through before others get their turn. */
const FIND_AT_ONCE = 10

export type HostSessions = ReturnType<typeof createHostSessions>

export const createHostSessions = (deps: HostSessionsOptions) => {
  const { sessions, redact, trashDir, now, log, addon, onChange } = deps
  const seen = new Map<string, Seen>()
  /** The state of the database each session was brought up to. */
  const followedAt = new Map<string, string>()
  const movedAt = new Map<string, number>()

  const shownIn = (home: HostHome) => ({
    workspace: deps.lastWorkspace(home),
    profile: home.name,
    redact,
  })

  /** Whatever is wrong with a file that is not ours, the page goes on without it. */
  const read = <T>(home: HostHome, work: (db: Database) => T): T | undefined => {
    try {
      return readState(stateDbPath(home), addon, work)
    } catch (error) {
      log('the state database of the agent cannot be read', {
        home: home.dir,
        error: messageOf(error),
      })
      return undefined
    }
  }

  const look = (home: HostHome): Seen => {
    const file = stateDbPath(home)
    const stamp = dbStamp(file)
    const shown = shownIn(home)
    const last = seen.get(home.dir)
    if (last && stamp !== undefined && stamp === last.stamp && shown.workspace === last.workspace) {
      return last
    }
    const at = { stamp, workspace: shown.workspace }
    const next: Seen = { ...at, text: '[]', rows: [], problem: null }
    try {
      next.rows = readState(file, addon, db => readRows(db, shown)) ?? []
      next.text = JSON.stringify(next.rows)
    } catch (error) {
      next.problem = messageOf(error)
      if (last?.problem !== next.problem) {
        log('the sessions of the command line cannot be listed', {
          home: home.dir,
          error: next.problem,
        })
      }
    }
    if (last?.text === next.text) next.rows = last.rows
    seen.set(home.dir, next)
    return next
  }

  const placeOf = (id: string): string => join(trashDir, id)

  const importNew = (home: HostHome, id: string): void => {
    const found = read(home, db => {
      const stored = readRow(db, id, shownIn(home))
      return stored && { ...stored, messages: readMessages(db, id) }
    })
    if (!found) throw missing('Session not found in CLI store')
    const { row, hasTitle: titled, messages } = found
    const first = messages.find(({ role }) => role === 'user')
    const asked = typeof first?.content === 'string' ? first.content.trim() : ''
    const words = [...asked.replace(/\s+/g, ' ')].slice(0, TITLE_CHARS).join('')
    const title = titled ? row.title : words || 'CLI Session'
    const followed: SyncState = { seen: newestNumber(messages), count: messages.length, title }
    const meta = {
      title,
      // A name from the terminal is a name: none is made up for it here.
      ...(titled ? { llm_title_generated: true } : {}),
      ...(row.archived ? { archived: true } : {}),
      _cli: followed,
      workspace: row.workspace,
      model: row.model,
      profile: home.name,
      created_at: row.created_at,
      updated_at: row.updated_at,
      // Usage goes on from here: the mirror writes totals over the ones in the database.
      input_tokens: row.input_tokens,
      output_tokens: row.output_tokens,
      estimated_cost: row.estimated_cost,
      is_cli_session: true,
      _cli_origin: id,
      source_tag: row.source_tag,
    }
    if (!sessions.row(id)) return void sessions.adopt(id, meta, messages)
    // An empty one of ours has the id: it is filled.
    const { created_at: _, updated_at: __, ...patch } = meta
    sessions.append(id, [
      { t: 'meta', patch },
      ...messages.map(({ id: ___, ...message }): NewEntry => ({ t: 'message', message })),
    ])
  }

  /** Adds what the command line has said since; see `planFollow`. Costs nothing while its database stays as it was. */
  const refresh = (home: HostHome, id: string): void => {
    const row = sessions.row(id)
    if (!row?.is_cli_session || deps.isActive(id)) return
    const stamp = dbStamp(stateDbPath(home))
    if (stamp === '' || (stamp !== undefined && followedAt.get(id) === stamp)) return
    const theirs = read(home, db => {
      const tip = readLineageTip(db, id)
      const stored = readRow(db, tip, shownIn(home))
      return {
        messages: readMessages(db, tip),
        title: stored?.hasTitle ? stored.row.title : '',
        compacted: isCompacted(db, id),
      }
    })
    if (!theirs) return
    const entries = planSync(sessions.load(id), theirs, now())
    // The conversation keeps its place in the list.
    if (entries.length > 0) sessions.append(id, entries, { quiet: true })
    if (stamp !== undefined) followedAt.set(id, stamp)
  }

  return {
    /** Newest first; empty when there is no database or it cannot be read. The same array while nothing changed. */
    rows: (home: HostHome): readonly SessionRow[] => look(home).rows,
    /** A session of ours that came from the command line gets what was said there since. */
    refresh,
    /** The same for all of a home that are listed there. */
    refreshAll(home: HostHome): void {
      for (const { session_id: id, updated_at } of look(home).rows) {
        const key = `${home.dir}\n${id}`
        if (movedAt.get(key) === updated_at || !sessions.row(id)?.is_cli_session) continue
        movedAt.set(key, updated_at)
        refresh(home, id)
      }
    },
    /** Why the last look failed; null when it did not. */
    problem: (home: HostHome): string | null => look(home).problem,

    /** The row and every message of a session that only the command line has, redacted. */
    session(home: HostHome, id: string): { row: SessionRow; messages: Message[] } | undefined {
      if (!SESSION_ID.test(id)) return undefined
      const found = read(home, db => {
        const stored = readRow(db, id, shownIn(home))
        return stored && { ...stored, messages: readMessages(db, id) }
      })
      if (!found) return undefined
      const { row, hasTitle: titled, messages } = found
      return {
        row: {
          ...row,
          title: titled ? row.title : 'CLI Session',
          model: row.model ?? 'unknown',
          message_count: messages.length,
        },
        messages: deps.redactValue(messages),
      }
    },

    /** Conversations only the command line has with messages that hold all words, newest first. */
    async find(home: HostHome, asked: MessageQuery & { limit: number }) {
      const hits: { row: SessionRow; messages: FoundMessage[] }[] = []
      const rows = look(home).rows.filter(({ session_id }) => !sessions.row(session_id))
      for (let at = 0; at < rows.length && hits.length < asked.limit; at += FIND_AT_ONCE) {
        const some = rows.slice(at, at + FIND_AT_ONCE)
        const found = read(home, db =>
          some.map(row => ({ row, messages: findMessages(db, row.session_id, asked) })),
        )
        hits.push(...(found ?? []).filter(({ messages }) => messages.length > 0))
        await setImmediate()
      }
      return hits.slice(0, asked.limit)
    },

    /** Where its files are, for sessions that are not ours; undefined for unknown ones. */
    workspaceOf(home: HostHome, id: string): string | undefined {
      if (!SESSION_ID.test(id)) return undefined
      return read(home, db => readRow(db, id, shownIn(home)))?.row.workspace
    },

    /** The session becomes one of ours, under the same id. Asked again, it is brought up to date. */
    importSession(home: HostHome, id: string): { id: string; imported: boolean } {
      const own = sessions.row(id)
      const isEmpty = own?.message_count === 0 && own.title === 'Untitled'
      if (own && !isEmpty) refresh(home, own.session_id)
      else importNew(home, id)
      return { id: own?.session_id ?? id, imported: !own || isEmpty }
    },

    /** Deletes it from the database; unless `permanent`, its rows lie in the trash for a day. False when there was none. */
    async remove(home: HostHome, id: string, { permanent = false } = {}): Promise<boolean> {
      if (!SESSION_ID.test(id)) return false
      const file = stateDbPath(home)
      const taken = read(home, db => readDump(db, id))
      if (!taken) return false
      if (!permanent) {
        // Before anything is deleted: killed in between, the rows exist twice and are deleted once more.
        const place = placeOf(id)
        mkdirSync(place, { recursive: true, mode: 0o700 })
        const about = join(place, 'about.json')
        if (!existsSync(about)) writeAtomic(about, JSON.stringify({ session_id: id, at: now() }))
        writeAtomic(join(place, TAKEN), `${home.name}\n${formatDump(taken)}`)
      }
      await writeState(file, addon, db => deleteSession(db, id))
      seen.delete(home.dir)
      onChange(home)
      return true
    },

    /** Puts deleted rows back into the database they came from. False when the trash holds none. */
    async restore(
      homeOf: (profile: string) => HostHome,
      id: string,
    ): Promise<HostHome | undefined> {
      const path = join(placeOf(id), TAKEN)
      if (!SESSION_ID.test(id) || !existsSync(path)) return undefined
      const text = readWholeText(path)
      const cut = text.indexOf('\n')
      const home = homeOf(text.slice(0, cut))
      const taken = parseDump(text.slice(cut + 1))
      const done = await writeState(stateDbPath(home), addon, db => {
        restoreDump(db, taken)
        return true
      })
      if (!done) throw missing('The database this session came from is gone')
      rmSync(path, { force: true })
      seen.delete(home.dir)
      onChange(home)
      return home
    },

    /** Empties the trash of a session that had nothing there but rows. */
    removeFromTrash(id: string): void {
      if (SESSION_ID.test(id)) rmSync(placeOf(id), { recursive: true, force: true })
    },

    /** Never rejects: a turn does not fail because its usage could not be reported. */
    async mirror(home: HostHome, sessionId: string): Promise<void> {
      try {
        const row = sessions.row(sessionId)
        if (!row) return
        await writeState(stateDbPath(home), addon, db =>
          mirrorUsage(db, sessions.row(sessionId) ?? row, now()),
        )
      } catch (error) {
        log('the usage of a turn could not be written to the state database', {
          session_id: sessionId,
          error: messageOf(error),
        })
      }
    },
  }
}
