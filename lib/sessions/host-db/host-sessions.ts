/** Sessions of the host agent's CLI, whose home we share: list, read, search, import, sync, delete and restore. */
import { setImmediate } from 'node:timers/promises'
import { messageOf, UserError } from '../../errors.ts'
import { SESSION_ID } from '../../schema/ids.ts'
import type { Message } from '../../schema/message.ts'
import type { SessionRow } from '../../schema/session.ts'
import { isSameMessage, readMessages } from './read-messages.ts'
import { findMessages, type FoundMessage, type MessageQuery } from './search-messages.ts'
import { createSessionList } from './session-list.ts'
import { readRow, type RowOptions } from './session-rows.ts'
import { createSessionSync, type SessionSyncOptions, untitledOf } from './session-sync.ts'
import { createSessionTrash } from './session-trash.ts'
import {
  type Database,
  type HostHome,
  readState,
  stateDbPath,
  stateError,
  writeState,
} from './state-db.ts'
import { mirrorUsage } from './usage-mirror.ts'

export type HostSessionsOptions = Pick<SessionSyncOptions, 'sessions' | 'isActive' | 'clock'> & {
  lastWorkspace: (home: HostHome) => string
  redact: (text: string) => string
  redactValue: <T>(value: T) => T
  trashDir: string
  log: (line: string, extra?: Record<string, unknown>) => void
  /** Called when we deleted or restored rows of a home. */
  onChange: (home: HostHome) => void
  addon?: string | undefined
}

/** How many sessions are searched before the event loop serves other work. */
const SEARCH_BATCH = 10

export type HostSessions = ReturnType<typeof createHostSessions>

export const createHostSessions = (options: HostSessionsOptions) => {
  const { sessions, isActive, redact, redactValue, trashDir, clock, log, addon } = options
  /** The row's `updated_at` when `refreshAll` last synced a session. */
  const refreshedAt = new Map<string, number>()

  const rowOptions = (home: HostHome): RowOptions => ({
    workspace: options.lastWorkspace(home),
    profile: home.name,
    redact,
  })

  /** Undefined when there is no database. Throws a UserError when it is busy or cannot be read: it is not as if it were absent. */
  const read = <T>(home: HostHome, work: (db: Database) => T): T | undefined => {
    try {
      return readState(stateDbPath(home), addon, work)
    } catch (error) {
      log("could not read the agent's state database", { home: home.dir, error: messageOf(error) })
      throw stateError(error)
    }
  }
  /** For work that goes on without the database: what is missing was logged, and is read the next time. */
  const readIfAny = <T>(home: HostHome, work: (db: Database) => T): T | undefined => {
    try {
      return read(home, work)
    } catch (error) {
      if (error instanceof UserError) return undefined
      throw error
    }
  }

  const list = createSessionList({ rowOptions, log, addon })
  const { refresh, importSession } = createSessionSync({
    sessions,
    isActive,
    rowOptions,
    read,
    readIfAny,
    clock,
  })
  const trash = createSessionTrash({
    trashDir,
    addon,
    clock,
    onChange: home => {
      list.invalidate(home)
      options.onChange(home)
    },
  })

  return {
    ...trash,
    importSession,
    /** Syncs an imported session with the messages added at the terminal. */
    refresh,
    /** Newest first; empty when the database is missing, and what was read last while it cannot be read. The same array while nothing changed. */
    rows: (home: HostHome): readonly SessionRow[] => list.get(home).rows,
    /** Why the list could not be read; null when it could. */
    problem: (home: HostHome): string | null => list.get(home).problem,

    /**
     * A message that the client knows by its id in the database: its session is imported, and the message at the same place
     * there is named. Any other id is returned as it is. `imported`: all messages of the session have other ids now.
     */
    ownMessage(home: HostHome, id: string, message: string): { id: string; imported: boolean } {
      const given = { id: message, imported: false }
      if (!SESSION_ID.test(id) || !/^c\d+$/.test(message)) return given
      const found = read(home, db => readMessages(db, id)) ?? []
      const at = found.findIndex(each => each.id === message)
      if (at < 0) return given
      const { id: own, imported } = importSession(home, id)
      const same = sessions.load(own).messages[at]
      return same && isSameMessage(same, found[at]!) ? { id: same.id, imported } : given
    },

    /** Imports a session that a message is sent to. False when it is ours already, or unknown. */
    claim(home: HostHome, id: string): boolean {
      if (!SESSION_ID.test(id) || sessions.row(id)) return false
      if (!read(home, db => readRow(db, id, rowOptions(home)))) return false
      return importSession(home, id).imported
    },

    /** Syncs all imported sessions of a home whose row changed. */
    refreshAll(home: HostHome): void {
      for (const { session_id: id, updated_at } of list.get(home).rows) {
        const key = `${home.dir}\n${id}`
        if (refreshedAt.get(key) === updated_at || !sessions.row(id)?.is_cli_session) continue
        if (refresh(home, id)) refreshedAt.set(key, updated_at)
      }
    },

    /** The row and all messages of a session that is not imported, redacted. */
    session(home: HostHome, id: string): { row: SessionRow; messages: Message[] } | undefined {
      if (!SESSION_ID.test(id)) return undefined
      const found = read(home, db => {
        const stored = readRow(db, id, rowOptions(home))
        return stored && { ...stored, messages: readMessages(db, id) }
      })
      if (!found) return undefined
      const { row, hasTitle, messages } = found
      return {
        row: {
          ...row,
          title: hasTitle ? row.title : untitledOf(row),
          model: row.model ?? 'unknown',
          message_count: messages.length,
        },
        messages: redactValue(messages),
      }
    },

    /** Sessions that have messages with all the words, newest first; imported ones only with `imported`. */
    async find(home: HostHome, query: MessageQuery & { limit: number; imported?: boolean }) {
      const hits: { row: SessionRow; messages: FoundMessage[] }[] = []
      const rows = list
        .get(home)
        .rows.filter(({ session_id }) => query.imported || !sessions.row(session_id))
      for (let at = 0; at < rows.length && hits.length < query.limit; at += SEARCH_BATCH) {
        const batch = rows.slice(at, at + SEARCH_BATCH)
        const found = readIfAny(home, db =>
          batch.map(row => ({ row, messages: findMessages(db, row.session_id, query) })),
        )
        hits.push(...(found ?? []).filter(({ messages }) => messages.length > 0))
        await setImmediate()
      }
      return hits.slice(0, query.limit)
    },

    /** The workspace of a session that is not imported; undefined for an unknown id. */
    workspaceOf(home: HostHome, id: string): string | undefined {
      if (!SESSION_ID.test(id)) return undefined
      return read(home, db => readRow(db, id, rowOptions(home)))?.row.workspace
    },

    /** Writes the usage of a session into the agent's database. Never rejects: a turn must not fail because of it. */
    async mirror(home: HostHome, sessionId: string): Promise<void> {
      try {
        const row = sessions.row(sessionId)
        if (!row) return
        await writeState(stateDbPath(home), addon, db =>
          mirrorUsage(db, sessions.row(sessionId) ?? row, clock.now()),
        )
      } catch (error) {
        log("could not write usage to the agent's state database", {
          session_id: sessionId,
          error: messageOf(error),
        })
      }
    },
  }
}
