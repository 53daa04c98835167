/**
 * Finds the session that a request continues. Programs send the whole history with each request; its hash names the session
 * and the message at which that history ended. A cache: without it, a conversation continues in a new session with the
 * history that was sent.
 */
import { createHash } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { openDatabase } from '../store/sqlite.ts'
import type { ApiMessage } from './api-request.ts'
import { textOf } from './parse.ts'

/** Where a conversation stood: after this message of this session. */
export type Head = { session: string; message: string }

const MAX_ENTRIES = 20_000
const MAX_BODY_CHARS = 2_000_000

const SCHEMA = `
  create table entries (
    token text not null, key text not null, session text not null, message text not null, body text,
    primary key (token, key)
  );
  create index by_session on entries (session);
`

/** Programs trim texts and change line breaks, so only the words count. */
const words = (text: string): string => text.replace(/\s+/g, ' ').trim()

const identity = (message: ApiMessage): unknown[] => {
  if (message.role === 'user') return ['user', words(textOf(message.parts))]
  if (message.role === 'result') return ['result', message.callId]
  return ['assistant', words(message.text), message.calls.map(({ id }) => id)]
}

/** A key for a history: the same for the same conversation in each of the three formats. */
export const historyKey = (messages: readonly ApiMessage[]): string =>
  `history:${createHash('sha256')
    .update(JSON.stringify(messages.map(identity)))
    .digest('hex')}`

export type Conversations = ReturnType<typeof openConversations>

/** Entries belong to a token; another one does not find them. */
export const openConversations = (path: string, { addon }: { addon?: string | undefined } = {}) => {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const db = openDatabase(path, {
    migrations: [SCHEMA],
    pragmas: ['journal_mode = WAL', 'synchronous = NORMAL'],
    addon,
  })
  const find = db.prepare<[string, string], Head & { body: string | null }>(
    'select session, message, body from entries where token = ? and key = ?',
  )
  const put = db.prepare(
    'insert or replace into entries (token, key, session, message, body) values (?, ?, ?, ?, ?)',
  )
  const trim = db.prepare('delete from entries where rowid <= (select max(rowid) from entries) - ?')
  const remove = db.prepare('delete from entries where token = ? and key = ?')
  return {
    find: (token: string, key: string) => find.get(token, key),
    /** `body`: what is returned for it later, as JSON text. */
    save(token: string, key: string, { session, message }: Head, body?: string): void {
      const kept = body !== undefined && body.length <= MAX_BODY_CHARS ? body : null
      put.run(token, key, session, message, kept)
      trim.run(MAX_ENTRIES)
    },
    remove: (token: string, key: string): boolean => remove.run(token, key).changes > 0,
    close: () => void db.close(),
  }
}
