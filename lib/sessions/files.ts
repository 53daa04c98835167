/** Paths of session files, and reading them: completely, from the end, or around a message. */
import { closeSync } from 'node:fs'
import { join } from 'node:path'
import { unavailable, type UserError } from '../errors.ts'
import { errorCode, fileReason } from '../store/file-error.ts'
import { fileStamp, type Line, readLines, readLinesBackward, type Stamp } from '../store/journal.ts'
import { SESSION_ID } from '../schema/ids.ts'
import type { Message } from '../schema/message.ts'
import {
  type AnsweredEntry,
  contentText,
  type Entry,
  isQuestionLine,
  type Meta,
  messageHead,
  parseEntry,
} from './entries.ts'
import { foldBackward } from './fold-backward.ts'
import { foldForward, isHidden, type Summary, toPreview } from './fold.ts'
import { toEntries, toLines } from './legacy.ts'
import { redact } from '../base/redact/redact.ts'
import { openFile, readWhole } from '../store/read-text.ts'

export type Format = 'jsonl' | 'json'
export type SessionFile = { id: string; path: string; format: Format }

/** An entry of a sparse index into a journal: line `n` begins at byte `offset`, after `seen` visible messages. */
export type Mark = { n: number; offset: number; seen: number }
const MARK_BYTES = 65_536

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

/** No line of it could be read: it is empty, or has nothing but zeros or garbage. */
export const isEmptied = ({ nextN, count }: Pick<Summary, 'nextN' | 'count'>): boolean =>
  nextN === 1 && count === 0

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

export const withFile = <T>(path: string, read: (fd: number) => T): T => {
  return readable(() => {
    const fd = openFile(path)
    try {
      return read(fd)
    } finally {
      closeSync(fd)
    }
  })
}

export const createFiles = (dir: string) => {
  const jsonl = (id: string): string => join(dir, `${id}.jsonl`)
  const json = (id: string): string => join(dir, `${id}.json`)

  return {
    dir,
    path: (name: string): string => join(dir, name),
    jsonl,
    json,
    /** All files that may contain content of this session. */
    all: (id: string): string[] =>
      ['.jsonl', '.json', '.json.migrated', '.torn', '.jsonl.tmp'].map(end => join(dir, id + end)),
    /** The session's file with its stamp, the journal before the former format; undefined when there is none. */
    find(id: string): (SessionFile & { stamp: Stamp }) | undefined {
      for (const format of ['jsonl', 'json'] as const) {
        const path = format === 'jsonl' ? jsonl(id) : json(id)
        const stamp = fileStamp(path)
        if (stamp) return { id, path, format, stamp }
      }
      return undefined
    },
  }
}
export type Files = ReturnType<typeof createFiles>

/** The session id of a file name; undefined for other files. */
export const idOfName = (name: string): string | undefined => {
  const match = /^(.+?)\.jsonl?$/.exec(name)
  return match?.[1] !== undefined && SESSION_ID.test(match[1]) ? match[1] : undefined
}

export const readHeader = (path: string): Entry | null =>
  withFile(path, fd => {
    for (const { bytes } of readLines(fd)) {
      const entry = parseEntry(bytes.toString())
      return entry === 'unknown' ? null : entry
    }
    return null
  })

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
  const result = foldForward(id, toLines(entries))
  result.summary.format = 'json'
  result.folded.format = 'json'
  return result
}

/** Count and preview after `cut` was appended to a clean journal. Reads only the hidden lines and the last user message. */
export const recount = (
  path: string,
  before: Pick<Summary, 'count' | 'cuts'>,
  cut: { n: number; after: number },
): Pick<Summary, 'count' | 'preview'> =>
  withFile(path, fd => {
    let count = before.count
    for (const { bytes } of readLinesBackward(fd)) {
      const head = messageHead(bytes)
      if (!head || head.n >= cut.n || isHidden(before.cuts, head.n)) continue
      if (head.n > cut.after) {
        count -= 1
        continue
      }
      if (!bytes.includes('"role":"user"')) continue
      const entry = parseEntry(bytes.toString())
      if (entry && entry !== 'unknown' && entry.t === 'message' && entry.message.role === 'user') {
        return { count, preview: toPreview(entry.message) }
      }
    }
    return { count, preview: '' }
  })

/** The current draft. Drafts are written last, so it is found near the end. */
export const readDraft = (path: string): Meta['composer_draft'] =>
  withFile(path, fd => {
    for (const { bytes } of readLinesBackward(fd)) {
      if (messageHead(bytes) || !bytes.includes('"composer_draft"')) continue
      const entry = parseEntry(bytes.toString())
      if (!entry || entry === 'unknown') continue
      const values =
        entry.t === 'session' ? entry.meta : entry.t === 'meta' ? entry.patch : undefined
      if (values && 'composer_draft' in values) return values.composer_draft ?? undefined
    }
    return undefined
  })

/** The first answer to a question in the lines from this byte on. */
const answerFrom = (fd: number, offset: number, id: string): AnsweredEntry | undefined => {
  for (const { bytes } of readLines(fd, offset)) {
    const entry = isQuestionLine(bytes) ? parseEntry(bytes.toString()) : null
    if (entry && entry !== 'unknown' && entry.t === 'answered' && entry.id === id) return entry
  }
  return undefined
}

/** The last `limit` visible messages that end before byte `before` (or the end of the file). */
export const readTail = (
  { id, path }: SessionFile,
  limit: number,
  range?: { before: number; cuts: readonly [number, number][] },
): Message[] =>
  withFile(
    path,
    fd =>
      foldBackward(id, readLinesBackward(fd, range?.before), {
        limit,
        cuts: range?.cuts,
        // A question of this page may have been answered after its last message.
        ...(range && { answerBelow: asked => answerFrom(fd, range.before, asked) }),
      }).messages,
  )

/** Continues from `last` and yields a mark about every 64 kB, so that a page far up does not read everything before it. */
export function* newMarks(
  fd: number,
  cuts: readonly [number, number][],
  last: Mark,
): Generator<Mark> {
  let { seen } = last
  let next = last.offset + MARK_BYTES
  for (const line of readLines(fd, last.offset)) {
    const head = messageHead(line.bytes)
    if (!head) continue
    if (line.offset >= next) {
      yield { n: head.n, offset: line.offset, seen }
      next = line.offset + MARK_BYTES
    }
    if (!isHidden(cuts, head.n)) seen += 1
  }
}

/** The byte offset of the visible message `id`, and how many visible messages precede it. */
export const findMessage = (
  fd: number,
  id: string,
  cuts: readonly [number, number][],
  from: Mark,
): { offset: number; index: number } | undefined => {
  let index = from.seen
  const start = `{"id":${JSON.stringify(id)},`
  for (const { offset, bytes } of readLines(fd, from.offset)) {
    const head = messageHead(bytes)
    if (!head || isHidden(cuts, head.n)) continue
    const end = head.start + start.length
    const found =
      bytes.toString('utf8', head.start, end) === start ||
      // Another program may write the keys of a message in another order.
      (bytes.includes(id) && idOf({ offset, bytes }) === id)
    if (found) return { offset, index }
    index += 1
  }
  return undefined
}

const idOf = ({ bytes }: Line): string | undefined => {
  const entry = parseEntry(bytes.toString())
  return entry && entry !== 'unknown' && entry.t === 'message' ? entry.message.id : undefined
}

const TOOL_CHARS = 2_000
/** A secret that begins in the indexed part of an output is masked before the output is cut. */
const SECRET_CHARS = 2_000

/** The strings of a tool result, without its keys: a person searches for what the tool returned. */
const resultText = (content: string): string => {
  if (!content.startsWith('{') && !content.startsWith('[')) return content
  try {
    const strings: string[] = []
    JSON.parse(content, (_, value: unknown) => {
      if (typeof value === 'string') strings.push(value)
    })
    return strings.join('\n')
  } catch {
    // Text that begins like JSON.
    return content
  }
}

/** The text of a message to search: tool output is truncated, system messages are excluded. */
export const searchText = (message: Message): string => {
  if (message.role === 'system') return ''
  const text = contentText(message.content)
  if (message.role !== 'tool') return text
  const result = resultText(text)
  if (result.length <= TOOL_CHARS) return result
  return redact(result.slice(0, TOOL_CHARS + SECRET_CHARS)).slice(0, TOOL_CHARS)
}
