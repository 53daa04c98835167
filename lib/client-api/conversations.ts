/**
 * Finds the session that a request continues. Programs send the whole history with each request; its hash names the session
 * and the message at which that history ended. A cache: without it, a conversation continues in a new session with the
 * history that was sent.
 */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { sha256 } from '../base/sha256.ts'
import { oneLine } from '../base/shorten.ts'
import { messageOf } from '../errors.ts'
import {
  type Database,
  isCorrupt,
  isUnwritable,
  openDatabase,
  removeDatabase,
  SMALL_CACHE,
} from '../store/sqlite.ts'
import type { ApiMessage } from './api-request.ts'
import { textOfParts } from './parse.ts'

/** Where a conversation stood: after this message of this session. */
export type Head = { session: string; message: string }

const MAX_ENTRIES = 20_000
const MAX_BODY_CHARS = 2_000_000

const PRAGMAS = ['journal_mode = WAL', 'synchronous = NORMAL', SMALL_CACHE]

const SCHEMA = `
  create table entries (
    token text not null, key text not null, session text not null, message text not null, body text,
    primary key (token, key)
  );
`

/** Programs trim texts and change line breaks, so only the words count, and the images. */
const identity = (message: ApiMessage): unknown[] => {
  if (message.role === 'user') {
    const images = message.parts.flatMap(part => (part.type === 'image' ? [part.url] : []))
    return ['user', oneLine(textOfParts(message.parts)), ...images]
  }
  if (message.role === 'result') return ['result', message.callId]
  return ['assistant', oneLine(message.text), message.calls.map(({ id }) => id)]
}

/** A key for a history: the same for the same conversation in each of the three formats. */
export const historyKey = (messages: readonly ApiMessage[]): string =>
  `history:${sha256(JSON.stringify(messages.map(identity)))}`

type ConversationRow = Head & { body: string | null }

const prepare = (db: Database) => ({
  close: () => db.close(),
  find: db.prepare<[string, string], ConversationRow>(
    'select session, message, body from entries where token = ? and key = ?',
  ),
  put: db.prepare(
    'insert or replace into entries (token, key, session, message, body) values (?, ?, ?, ?, ?)',
  ),
  trim: db.prepare('delete from entries where rowid <= (select max(rowid) from entries) - ?'),
  remove: db.prepare('delete from entries where token = ? and key = ?'),
})

/** Entries belong to a token; another one does not find them. The file is opened on first use, and replaced when it is damaged. */
export class Conversations {
  readonly #path: string
  readonly #addon: string | undefined
  readonly #log: (message: string, extra?: Record<string, unknown>) => void
  #statements: ReturnType<typeof prepare> | undefined

  constructor(
    path: string,
    addon: string | undefined,
    log: (message: string, extra?: Record<string, unknown>) => void,
  ) {
    this.#path = path
    this.#addon = addon
    this.#log = log
  }

  #openFile(file: string) {
    return prepare(
      openDatabase(file, { migrations: [SCHEMA], pragmas: PRAGMAS, addon: this.#addon }),
    )
  }

  #open() {
    try {
      mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 })
      return this.#openFile(this.#path)
    } catch (error) {
      this.#log('starting over with what is known of conversations', { error: messageOf(error) })
      if (isUnwritable(error)) return this.#openFile(':memory:')
      removeDatabase(this.#path)
      return this.#openFile(this.#path)
    }
  }

  #replace(): void {
    this.#statements?.close()
    this.#statements = undefined
    removeDatabase(this.#path)
  }

  /** A damaged file is replaced once, by an empty one. */
  #use<T>(work: (db: ReturnType<typeof prepare>) => T): T {
    try {
      this.#statements ??= this.#open()
      return work(this.#statements)
    } catch (error) {
      if (!isCorrupt(error)) throw error
      this.#replace()
      this.#statements = this.#open()
      return work(this.#statements)
    }
  }

  find(token: string, key: string): ConversationRow | undefined {
    return this.#use(({ find }) => find.get(token, key))
  }

  /** `body`: what is returned for it later, as JSON text. */
  save(token: string, key: string, { session, message }: Head, body?: string): void {
    const text = body !== undefined && body.length <= MAX_BODY_CHARS ? body : null
    this.#use(({ put, trim }) => {
      put.run(token, key, session, message, text)
      trim.run(MAX_ENTRIES)
    })
  }

  remove(token: string, key: string): boolean {
    return this.#use(({ remove }) => remove.run(token, key).changes > 0)
  }

  close(): undefined {
    this.#statements?.close()
  }
}
