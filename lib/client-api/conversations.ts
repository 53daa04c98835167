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
} from '../store/sqlite.ts'
import type { ApiMessage } from './api-request.ts'
import { textOf } from './parse.ts'

/** Where a conversation stood: after this message of this session. */
export type Head = { session: string; message: string }

const MAX_ENTRIES = 20_000
const MAX_BODY_CHARS = 2_000_000

const PRAGMAS = ['journal_mode = WAL', 'synchronous = NORMAL']

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
    return ['user', oneLine(textOf(message.parts)), ...images]
  }
  if (message.role === 'result') return ['result', message.callId]
  return ['assistant', oneLine(message.text), message.calls.map(({ id }) => id)]
}

/** A key for a history: the same for the same conversation in each of the three formats. */
export const historyKey = (messages: readonly ApiMessage[]): string =>
  `history:${sha256(JSON.stringify(messages.map(identity)))}`

export type Conversations = ReturnType<typeof openConversations>

type Row = Head & { body: string | null }

const prepare = (db: Database) => ({
  close: () => db.close(),
  find: db.prepare<[string, string], Row>(
    'select session, message, body from entries where token = ? and key = ?',
  ),
  put: db.prepare(
    'insert or replace into entries (token, key, session, message, body) values (?, ?, ?, ?, ?)',
  ),
  trim: db.prepare('delete from entries where rowid <= (select max(rowid) from entries) - ?'),
  remove: db.prepare('delete from entries where token = ? and key = ?'),
})

/** Entries belong to a token; another one does not find them. The file is opened on first use, and replaced when it is damaged. */
export const openConversations = (
  path: string,
  {
    addon,
    log,
  }: {
    addon: string | undefined
    log: (message: string, extra?: Record<string, unknown>) => void
  },
) => {
  let statements: ReturnType<typeof prepare> | undefined

  const openFile = (file: string) =>
    prepare(openDatabase(file, { migrations: [SCHEMA], pragmas: PRAGMAS, addon }))

  const open = () => {
    try {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      return openFile(path)
    } catch (error) {
      log('starting over with what is known of conversations', { error: messageOf(error) })
      if (isUnwritable(error)) return openFile(':memory:')
      removeDatabase(path)
      return openFile(path)
    }
  }

  const replace = (): void => {
    statements?.close()
    statements = undefined
    removeDatabase(path)
  }

  /** A damaged file is replaced once, by an empty one. */
  const use = <T>(work: (db: ReturnType<typeof prepare>) => T): T => {
    try {
      statements ??= open()
      return work(statements)
    } catch (error) {
      if (!isCorrupt(error)) throw error
      replace()
      statements = open()
      return work(statements)
    }
  }

  return {
    find: (token: string, key: string): Row | undefined => use(({ find }) => find.get(token, key)),
    /** `body`: what is returned for it later, as JSON text. */
    save(token: string, key: string, { session, message }: Head, body?: string): void {
      const kept = body !== undefined && body.length <= MAX_BODY_CHARS ? body : null
      use(({ put, trim }) => {
        put.run(token, key, session, message, kept)
        trim.run(MAX_ENTRIES)
      })
    },
    remove: (token: string, key: string): boolean =>
      use(({ remove }) => remove.run(token, key).changes > 0),
    close: () => void statements?.close(),
  }
}
