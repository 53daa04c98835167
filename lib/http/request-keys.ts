/** The idempotency keys of a day, with the replies to their requests. */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import type { Clock } from '../base/clock.ts'
import { messageOf } from '../errors.ts'
import type { KeyStore, KnownRequest, SavedReply } from './once.ts'
import type { KeyJournal, KeyLine } from './request-key-journal.ts'
import {
  type Database,
  isCorrupt,
  isUnwritable,
  openDatabase,
  removeDatabase,
} from '../store/sqlite.ts'

const KEPT_MS = 24 * 3_600_000
const MAX_KEYS = 20_000
/** Counting the keys takes longer than adding one. */
const TRIM_EVERY = 100
/** Of the replies that are kept in memory. */
const MAX_MEMORY_CHARS = 4_000_000

// A killed process loses nothing. A power failure may lose the last keys.
const PRAGMAS = ['journal_mode = WAL', 'synchronous = NORMAL', 'secure_delete = ON']

const MIGRATIONS = [
  `
  create table request (
    id text primary key, at integer not null, fingerprint text not null, done integer not null, reply text
  ) without rowid;
  create index by_time on request (at);
  `,
]

type Row = { fingerprint: string; done: number; reply: string | null }

const prepare = (db: Database) => ({
  db,
  close: () => db.close(),
  find: db.prepare<[string, number], Row>(
    'select fingerprint, done, reply from request where id = ? and at >= ?',
  ),
  begin: db.prepare('insert or replace into request values (?, ?, ?, 0, null)'),
  end: db.prepare('update request set done = 1, reply = ? where id = ?'),
  remove: db.prepare('delete from request where id = ?'),
  expire: db.prepare('delete from request where at < ?'),
  trim: db.prepare(
    'delete from request where id in (select id from request where done = 1 order by at desc limit -1 offset ?)',
  ),
})

/** The replies of this process. Those that hold text of chats or secrets are nowhere else. */
class ReplyMemory {
  readonly #replies = new Map<string, SavedReply>()
  #chars = 0

  remove(id: string): void {
    this.#chars -= this.#replies.get(id)?.text.length ?? 0
    this.#replies.delete(id)
  }

  get(id: string): SavedReply | undefined {
    return this.#replies.get(id)
  }

  put(id: string, reply: SavedReply): void {
    this.remove(id)
    this.#replies.set(id, reply)
    this.#chars += reply.text.length
    for (const oldest of this.#replies.keys()) {
      if (this.#chars <= MAX_MEMORY_CHARS) break
      this.remove(oldest)
    }
  }
}

/** What another owner knew as well. */
const replay = (
  { db, begin, end, remove }: ReturnType<typeof prepare>,
  lines: readonly KeyLine[],
): void => {
  db.transaction(() => {
    for (const line of lines) {
      if (line.t === 'begun') begin.run(line.id, line.at, line.fingerprint)
      else if (line.t === 'ended') end.run(line.reply && JSON.stringify(line.reply), line.id)
      else remove.run(line.id)
    }
  })()
}

/** The file is opened on first use, and replaced when it is damaged. */
export class RequestKeys implements KeyStore {
  readonly #path: string
  readonly #addon: string | undefined
  readonly #clock: Clock
  readonly #log: (message: string, extra?: Record<string, unknown>) => void
  readonly #maxKeys: number
  readonly #journal: KeyJournal | undefined
  readonly #memory = new ReplyMemory()
  #begun = 0
  #statements: ReturnType<typeof prepare> | undefined

  constructor(
    path: string,
    {
      addon,
      clock,
      log,
      maxKeys = MAX_KEYS,
      journal,
    }: {
      addon: string | undefined
      clock: Clock
      log: (message: string, extra?: Record<string, unknown>) => void
      maxKeys?: number
      /** In a cluster, where the next owner needs them. */
      journal?: KeyJournal | undefined
    },
  ) {
    this.#path = path
    this.#addon = addon
    this.#clock = clock
    this.#log = log
    this.#maxKeys = maxKeys
    this.#journal = journal
  }

  find(id: string): KnownRequest | undefined {
    const row = this.#use(({ find }) => find.get(id, this.#clock.now() - KEPT_MS))
    if (!row) return undefined
    const reply =
      this.#memory.get(id) ?? (row.reply === null ? null : (JSON.parse(row.reply) as SavedReply))
    return { fingerprint: row.fingerprint, isDone: row.done === 1, reply }
  }

  begin(id: string, fingerprint: string): void {
    this.#use(({ begin, expire, trim }) => {
      expire.run(this.#clock.now() - KEPT_MS)
      if (this.#begun++ % TRIM_EVERY === 0) trim.run(this.#maxKeys)
      const at = this.#clock.now()
      this.#journal?.add({ t: 'begun', id, at, fingerprint })
      begin.run(id, at, fingerprint)
    })
  }

  end(id: string, reply: SavedReply | null, keep: 'disk' | 'memory'): void {
    if (reply) this.#memory.put(id, reply)
    const kept = keep === 'disk' ? reply : null
    try {
      this.#use(({ end }) => end.run(kept && JSON.stringify(kept), id))
      this.#journal?.add({ t: 'ended', id, reply: kept })
    } catch (error) {
      if (!isUnwritable(error)) this.#log('a reply could not be kept', { error: messageOf(error) })
    }
  }

  release(id: string): void {
    this.#memory.remove(id)
    try {
      this.#use(({ remove }) => remove.run(id))
      this.#journal?.add({ t: 'freed', id })
    } catch (error) {
      if (!isUnwritable(error))
        this.#log('a request key could not be freed', { error: messageOf(error) })
    }
  }

  close(): void {
    this.#statements?.close()
    this.#statements = undefined
  }

  #open() {
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 })
    const found = prepare(
      openDatabase(this.#path, { migrations: MIGRATIONS, pragmas: PRAGMAS, addon: this.#addon }),
    )
    if (this.#journal) replay(found, this.#journal.read())
    return found
  }

  #opened(): ReturnType<typeof prepare> {
    this.#statements ??= this.#open()
    return this.#statements
  }

  /** A damaged file holds no key that could still be relied on. */
  #use<T>(work: (prepared: ReturnType<typeof prepare>) => T): T {
    try {
      return work(this.#opened())
    } catch (error) {
      if (!isCorrupt(error)) throw error
      this.#log('the request keys were damaged and are replaced', { error: messageOf(error) })
      this.#statements?.close()
      this.#statements = undefined
      removeDatabase(this.#path)
      return work(this.#opened())
    }
  }
}
