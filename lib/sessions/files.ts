/** Paths of session files, and their lines. */
import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { missing, unavailable, type UserError } from '../errors.ts'
import { SESSION_ID } from '../schema/ids.ts'
import { errorCode, fileReason } from '../store/file-error.ts'
import { fileStamp, readLines, type Stamp, writeLines } from '../store/journal.ts'
import { openFile, readWhole } from '../store/read-text.ts'
import { type JournalEntry, formatEntry, parseEntry } from './entries.ts'
import { foldForward, type Summary } from './fold.ts'
import { toEntries } from './legacy.ts'

export type Format = 'jsonl' | 'json'
export type SessionFile = { id: string; path: string; format: Format }

/** Errors that the user can fix. */
const UNREADABLE = new Set(['EACCES', 'EPERM', 'EIO', 'EISDIR', 'ENOTSUP'])

/** Of a file that lost what was in it, as after a power failure: it must not look like a new chat. */
export const emptied = (): UserError => {
  const reason = 'the file is empty, as after a power failure; restore it from a backup'
  return unavailable(`Couldn't read the file of this chat: ${reason}`, {
    code: 'session_unreadable',
    values: { reason },
  })
}

export const sessionMissing = (): UserError =>
  missing('Session not found', { code: 'session_not_found' })

/** No line of it could be read: it is empty, or has nothing but zeros or garbage. */
export const isEmptied = ({ nextN, count }: Summary): boolean => nextN === 1 && count === 0

const readable = <T>(read: () => T): T => {
  try {
    return read()
  } catch (error) {
    const code = errorCode(error)
    if (!UNREADABLE.has(code)) throw error
    throw unavailable(`Couldn't read the file of this chat (${code})`, {
      code: 'session_unreadable',
      values: { reason: fileReason(error) },
    })
  }
}

export const withFile = <T>(path: string, read: (fd: number) => T): T =>
  readable(() => {
    const fd = openFile(path)
    try {
      return read(fd)
    } finally {
      closeSync(fd)
    }
  })

/** Work in steps blocks the main thread at most this long at a time. */
const SLICE_MS = 8

/** As `withFile`, in steps: other work runs between slices of them. Resolves to what the last step returns. */
export const withFileInSlices = async <T>(
  path: string,
  steps: (fd: number) => Generator<void, T>,
): Promise<T> => {
  const fd = readable(() => openFile(path))
  const work = steps(fd)
  const slice = (): IteratorResult<void, T> => {
    const until = performance.now() + SLICE_MS
    let step = work.next()
    while (!step.done && performance.now() < until) step = work.next()
    return step
  }
  try {
    for (;;) {
      const step = readable(slice)
      if (step.done) return step.value
      await setImmediate()
    }
  } finally {
    closeSync(fd)
  }
}

/** Each line of a journal that is not empty, of those that `isWanted`: null when it is unreadable, as by `parseEntry`. */
export const parseLines = (
  path: string,
  isWanted: (bytes: Buffer) => boolean = ({ length }) => length > 0,
): ReturnType<typeof parseEntry>[] =>
  withFile(path, fd =>
    Iterator.from(readLines(fd))
      .filter(({ bytes }) => isWanted(bytes))
      .map(({ bytes }) => parseEntry(bytes.toString()))
      .toArray(),
  )

/** The lines that can be read. */
export const readEntries = (path: string, isWanted?: (bytes: Buffer) => boolean): JournalEntry[] =>
  parseLines(path, isWanted).filter(entry => entry !== null && entry !== 'unknown')

export class SessionFiles {
  readonly dir: string

  constructor(dir: string) {
    this.dir = dir
  }

  path(name: string): string {
    return join(this.dir, name)
  }

  jsonl(id: string): string {
    return this.path(`${id}.jsonl`)
  }

  json(id: string): string {
    return this.path(`${id}.json`)
  }

  /** All files that may contain content of this session. */
  all(id: string): string[] {
    return ['.jsonl', '.json', '.json.migrated', '.torn', '.jsonl.tmp'].map(end =>
      this.path(id + end),
    )
  }

  /** The session's file with its stamp, the journal before the former format; undefined when there is none. */
  find(id: string): (SessionFile & { stamp: Stamp }) | undefined {
    for (const format of ['jsonl', 'json'] as const) {
      const path = this[format](id)
      const stamp = fileStamp(path)
      if (stamp) return { id, path, format, stamp }
    }
    return undefined
  }

  /** Undefined when there is no such session. */
  fold(id: string): ReturnType<typeof foldForward> | undefined {
    const file = this.find(id)
    return file && (foldFile(file) ?? undefined)
  }
}

/** The session id of a file name; undefined for other files. */
export const idOfName = (name: string): string | undefined => {
  const match = /^(.+?)\.jsonl?$/.exec(name)
  return match?.[1] !== undefined && SESSION_ID.test(match[1]) ? match[1] : undefined
}

/** Null when the file is not a session (only a .json can be something else). */
export const foldFile = ({
  id,
  path,
  format,
}: SessionFile): ReturnType<typeof foldForward> | null => {
  if (format === 'jsonl') return withFile(path, fd => foldForward(id, readLines(fd)))
  const bytes = readable(() => readWhole(path))
  // Emptied, or nothing but zeros: a chat of which nothing is left.
  const entries = bytes.every(byte => byte === 0) ? [] : toEntries(id, bytes)
  if (!entries) return null
  const result = foldForward(
    id,
    entries.map(entry => ({ offset: 0, bytes: Buffer.from(formatEntry(entry)) })),
  )
  result.summary.format = 'json'
  result.folded.format = 'json'
  return result
}

/** Writes a whole journal in one step. */
export const writeJournal = (path: string, entries: readonly JournalEntry[]): void =>
  writeLines(path, entries.map(formatEntry))
