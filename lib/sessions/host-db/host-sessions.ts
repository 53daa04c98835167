/** Sessions of the host agent's CLI, whose home we share: list, read, search, import, sync, delete and restore. */
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { redactValue } from '../../base/redact/redact.ts'
import { type Clock, toSeconds } from '../../base/clock.ts'
import { messageOf, missing, UserError } from '../../errors.ts'
import { SESSION_ID } from '../../schema/ids.ts'
import type { Message } from '../../schema/message.ts'
import type { SessionRow } from '../../schema/session.ts'
import { cacheTokens } from '../../schema/usage.ts'
import { writeAtomic } from '../../store/atomic-write.ts'
import { readWholeText } from '../../store/read-text.ts'
import type { NewEntry } from '../entries.ts'
import type { Sessions } from '../sessions.ts'
import { newestNumber, planSync, type SyncState } from './new-messages.ts'
import { isCompacted, isSameMessage, readLineageTip, readMessages } from './read-messages.ts'
import { findMessages, type MessageHit, type MessageQuery } from './search-messages.ts'
import { deleteSession, formatDump, parseDump, readDump, restoreDump } from './session-dump.ts'
import { missingColumns, readRow, readRows, type RowOptions } from './session-rows.ts'
import {
  type Database,
  dbStamp,
  type HostHome,
  readState,
  stateDbPath,
  stateError,
  writeState,
} from './state-db.ts'
import { mirrorUsage } from './usage-mirror.ts'

type HostParts = {
  sessions: Sessions
  /** True while a turn runs: nothing may then be appended after its messages. */
  isActive: (sessionId: string) => boolean
  lastWorkspace: (home: HostHome) => string
  trashDir: string
  log: (line: string, extra?: Record<string, unknown>) => void
  /** Called when we deleted or restored rows of a home. */
  onChange: (home: HostHome) => void
  clock: Clock
  addon?: string | undefined
}

/** The list at the database state `stamp`. `rows` stays the same array while nothing changed. */
type List = {
  stamp: string | undefined
  workspace: string
  text: string
  rows: readonly SessionRow[]
  /** Why it could not be read; null when it could. */
  problem: string | null
}

/** How many sessions are searched before the event loop serves other work. */
const SEARCH_BATCH = 10
const TITLE_CHARS = 64
/** No file of a session of ours can have this name: those begin with the id and a dot. */
const DUMP_FILE = 'state-db-rows'

/** What a session without a title is called when it is opened; one from elsewhere, as the list calls it. */
const untitledOf = ({ source_tag, title }: SessionRow): string =>
  source_tag === 'cli' ? 'CLI Session' : title

export class HostSessions {
  readonly #parts: HostParts
  readonly #lists = new Map<string, List>()
  /** The homes whose missing columns were logged. */
  readonly #warned = new Set<string>()
  /** The row's `updated_at` when `refreshAll` last synced a session. */
  readonly #refreshedAt = new Map<string, number>()
  /** The database stamp each session was last synced with. */
  readonly #syncedAt = new Map<string, string>()

  constructor(parts: HostParts) {
    this.#parts = parts
  }

  #rowOptions(home: HostHome): RowOptions {
    const { lastWorkspace } = this.#parts
    return { workspace: lastWorkspace(home), profile: home.name }
  }

  /** Undefined when there is no database. Throws a UserError when it is busy or cannot be read: it is not as if it were absent. */
  #read<T>(home: HostHome, work: (db: Database) => T): T | undefined {
    try {
      return readState(stateDbPath(home), this.#parts.addon, work)
    } catch (error) {
      const about = { home: home.dir, error: messageOf(error) }
      this.#parts.log("could not read the agent's state database", about)
      throw stateError(error)
    }
  }

  /** For work that goes on without the database: what is missing was logged, and is read the next time. */
  #readIfAny<T>(home: HostHome, work: (db: Database) => T): T | undefined {
    try {
      return this.#read(home, work)
    } catch (error) {
      if (error instanceof UserError) return undefined
      throw error
    }
  }

  /** Throws a UserError when the database stays busy or cannot be used: nothing was changed then. */
  async #write<T>(home: HostHome, work: (db: Database) => T): Promise<T | undefined> {
    try {
      return await writeState(stateDbPath(home), this.#parts.addon, work)
    } catch (error) {
      throw stateError(error)
    }
  }

  #readList(home: HostHome): readonly SessionRow[] {
    const { addon, log } = this.#parts
    const rows = readState(stateDbPath(home), addon, db => {
      const missed = missingColumns(db).join(', ')
      const key = `${home.dir}\n${missed}`
      if (missed !== '' && !this.#warned.has(key)) {
        this.#warned.add(key)
        log(
          'the agent’s database lacks columns; its sessions are shown as far as they can be read',
          { home: home.dir, missing: missed },
        )
      }
      return readRows(db, this.#rowOptions(home))
    })
    return rows ?? []
  }

  #list(home: HostHome): List {
    const stamp = dbStamp(stateDbPath(home))
    const workspace = this.#parts.lastWorkspace(home)
    const last = this.#lists.get(home.dir)
    if (last && stamp !== undefined && stamp === last.stamp && workspace === last.workspace)
      return last
    const next: List = { stamp, workspace, text: '[]', rows: [], problem: null }
    try {
      next.rows = this.#readList(home)
      next.text = JSON.stringify(next.rows)
    } catch (error) {
      // What was read last is shown until it can be read again, which the next call tries, whether or not the file changed.
      const { rows = [], text = '[]' } = last ?? {}
      Object.assign(next, { rows, text, stamp: undefined, problem: messageOf(error) })
      if (last?.problem !== next.problem)
        this.#parts.log('could not list CLI sessions', { home: home.dir, error: next.problem })
    }
    if (last?.text === next.text) next.rows = last.rows
    this.#lists.set(home.dir, next)
    return next
  }

  /** Newest first; empty when the database is missing, and what was read last while it cannot be read. The same array while nothing changed. */
  rows(home: HostHome): readonly SessionRow[] {
    return this.#list(home).rows
  }

  /** Why the list could not be read; null when it could. */
  problem(home: HostHome): string | null {
    return this.#list(home).problem
  }

  #readSession(home: HostHome, id: string) {
    return this.#read(home, db => {
      const row = readRow(db, id, this.#rowOptions(home))
      return row && { ...row, messages: readMessages(db, id) }
    })
  }

  /** The row and all messages of a session that is not imported, redacted. */
  session(home: HostHome, id: string): { row: SessionRow; messages: Message[] } | undefined {
    const hostSession = SESSION_ID.test(id) && this.#readSession(home, id)
    if (!hostSession) return undefined
    const { row, hasTitle, messages } = hostSession
    const title = hasTitle ? row.title : untitledOf(row)
    const model = row.model ?? 'unknown'
    return {
      row: { ...row, title, model, message_count: messages.length },
      messages: redactValue(messages),
    }
  }

  /** The workspace of a session that is not imported; undefined for an unknown id. */
  workspaceOf(home: HostHome, id: string): string | undefined {
    if (!SESSION_ID.test(id)) return undefined
    return this.#read(home, db => readRow(db, id, this.#rowOptions(home)))?.row.workspace
  }

  /** Sessions that have messages with all the words, newest first; imported ones only with `imported`. */
  async find(home: HostHome, query: MessageQuery & { limit: number; imported?: boolean }) {
    const hits: { row: SessionRow; messages: MessageHit[] }[] = []
    const rows = this.rows(home).filter(
      ({ session_id }) => query.imported || !this.#parts.sessions.row(session_id),
    )
    for (let at = 0; at < rows.length && hits.length < query.limit; at += SEARCH_BATCH) {
      const batch = rows.slice(at, at + SEARCH_BATCH)
      const matches = this.#readIfAny(home, db =>
        batch.map(row => ({ row, messages: findMessages(db, row.session_id, query) })),
      )
      hits.push(...(matches ?? []).filter(({ messages }) => messages.length > 0))
      await setImmediate()
    }
    return hits.slice(0, query.limit)
  }

  #importNew(home: HostHome, id: string): void {
    const { sessions } = this.#parts
    const session = this.#readSession(home, id)
    if (!session) throw missing('Session not found in CLI store', { code: 'session_not_found' })
    const { row, hasTitle, messages } = session
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
      // Usage continues from these totals: `mirror` overwrites the ones in the database.
      input_tokens: row.input_tokens,
      output_tokens: row.output_tokens,
      estimated_cost: row.estimated_cost,
      ...cacheTokens(row.cache_read_tokens ?? 0, row.cache_write_tokens ?? 0),
      is_cli_session: true,
      _cli_origin: id,
      source_tag: row.source_tag,
    }
    // An empty session of ours that has this id is filled.
    if (sessions.row(id))
      sessions.append(id, [
        { t: 'meta', patch: meta },
        ...messages.map(({ id: _, ...message }): NewEntry => ({ t: 'message', message })),
      ])
    else
      sessions.adopt(
        id,
        { ...meta, created_at: row.created_at, updated_at: row.updated_at },
        messages,
      )
  }

  /** Copies a session into our store under the same id; one that is imported already is synced. */
  importSession(home: HostHome, id: string): { id: string; imported: boolean } {
    const own = this.#parts.sessions.row(id)
    const isEmpty = own?.message_count === 0 && own.title === 'Untitled'
    if (own && !isEmpty) this.refresh(home, own.session_id)
    else this.#importNew(home, id)
    return { id: own?.session_id ?? id, imported: !own || isEmpty }
  }

  /**
   * A message that the client knows by its id in the database: its session is imported, and the message at the same place
   * there is named. Any other id is returned as it is. `imported`: all messages of the session have other ids now.
   */
  ownMessage(home: HostHome, id: string, message: string): { id: string; imported: boolean } {
    const original = { id: message, imported: false }
    if (!SESSION_ID.test(id) || !/^c\d+$/.test(message)) return original
    const messages = this.#read(home, db => readMessages(db, id)) ?? []
    const at = messages.findIndex(each => each.id === message)
    if (at < 0) return original
    const { id: own, imported } = this.importSession(home, id)
    const same = this.#parts.sessions.load(own).messages[at]
    return same && isSameMessage(same, messages[at]!) ? { id: same.id, imported } : original
  }

  /** Imports a session that a message is sent to. False when it is ours already, or unknown. */
  claim(home: HostHome, id: string): boolean {
    if (this.#parts.sessions.row(id) || this.workspaceOf(home, id) === undefined) return false
    return this.importSession(home, id).imported
  }

  /**
   * Appends what the terminal added since the last sync; see `planSync`. Does nothing while the database is unchanged. False: not yet,
   * because a turn runs or the database cannot be read.
   */
  refresh(home: HostHome, id: string): boolean {
    const { sessions, isActive, clock } = this.#parts
    const row = sessions.row(id)
    if (!row?.is_cli_session || isActive(id)) return false
    const stamp = dbStamp(stateDbPath(home))
    if (stamp === '' || (stamp !== undefined && this.#syncedAt.get(id) === stamp)) return true
    const transcript = this.#readIfAny(home, db => {
      const tip = readLineageTip(db, id)
      const row = readRow(db, tip, this.#rowOptions(home))
      return {
        messages: readMessages(db, tip),
        title: row?.hasTitle ? row.row.title : '',
        compacted: isCompacted(db, id),
      }
    })
    if (!transcript) return false
    const own = sessions.load(id)
    const planned = planSync(own, transcript, clock.now())
    // A write converts a session of the former format; to open it changes nothing, unless there are messages to add.
    const isUnchanged = own.format === 'json' && planned.every(({ t }) => t !== 'message')
    // Quiet: the session does not move up in the list.
    if (planned.length > 0 && !isUnchanged) sessions.append(id, planned, { quiet: true })
    if (stamp !== undefined) this.#syncedAt.set(id, stamp)
    return true
  }

  /** Syncs all imported sessions of a home whose row changed. */
  refreshAll(home: HostHome): void {
    for (const { session_id: id, updated_at } of this.rows(home)) {
      const key = `${home.dir}\n${id}`
      if (this.#refreshedAt.get(key) === updated_at) continue
      if (this.refresh(home, id)) this.#refreshedAt.set(key, updated_at)
    }
  }

  /** Writes the usage of a session into the agent's database. Never rejects: a turn must not fail because of it. */
  async mirror(home: HostHome, sessionId: string): Promise<void> {
    const { sessions, addon, clock, log } = this.#parts
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
  }

  #changed(home: HostHome): void {
    this.#lists.delete(home.dir)
    this.#parts.onChange(home)
  }

  #trashOf(id: string): string {
    return join(this.#parts.trashDir, id)
  }

  /** Keeps rows that are about to be deleted for a day. */
  #keep(home: HostHome, id: string, rows: string): void {
    const dir = this.#trashOf(id)
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    const about = join(dir, 'about.json')
    const at = toSeconds(this.#parts.clock.now())
    if (!existsSync(about)) writeAtomic(about, JSON.stringify({ session_id: id, at }))
    writeAtomic(join(dir, DUMP_FILE), `${home.name}\n${rows}`)
  }

  /** Deletes a session from the database; unless `permanent`, its rows stay in the trash for a day. False when there is none. */
  async remove(home: HostHome, id: string, { permanent = false } = {}): Promise<boolean> {
    if (!SESSION_ID.test(id)) return false
    const isRemoved = await this.#write(home, db => {
      const dump = readDump(db, id)
      if (!dump) return false
      // Before the delete: after a kill in between, the rows exist twice and can be deleted again.
      if (!permanent) this.#keep(home, id, formatDump(dump))
      deleteSession(db, id)
      return true
    })
    if (isRemoved) this.#changed(home)
    return isRemoved === true
  }

  /** The path of the deleted rows of a session, and what is in it. */
  #readDump(id: string): { path: string; profile: string; rows: string } | undefined {
    const path = join(this.#trashOf(id), DUMP_FILE)
    if (!SESSION_ID.test(id) || !existsSync(path)) return undefined
    const text = readWholeText(path)
    const cut = text.indexOf('\n')
    return { path, profile: text.slice(0, cut), rows: text.slice(cut + 1) }
  }

  /** Restores deleted rows to the database they came from. Undefined when the trash has none. */
  async restore(homeOf: (profile: string) => HostHome, id: string): Promise<HostHome | undefined> {
    const file = this.#readDump(id)
    if (!file) return undefined
    const home = homeOf(file.profile)
    const dump = parseDump(file.rows)
    const done = await this.#write(home, db => {
      restoreDump(db, dump)
      return true
    })
    if (!done)
      throw missing('The database this session came from no longer exists', {
        code: 'session_not_found',
      })
    rmSync(file.path, { force: true })
    this.#changed(home)
    return home
  }

  /** The profile whose deleted rows `restore` would find. */
  trashedProfile(id: string): string | undefined {
    return this.#readDump(id)?.profile
  }

  /** Deletes the trash directory of a session that had only database rows in it. */
  removeFromTrash(id: string): void {
    if (SESSION_ID.test(id)) rmSync(this.#trashOf(id), { recursive: true, force: true })
  }
}
