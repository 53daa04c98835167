/** Reads one session: completely, a page from the end, or its messages as JSON bytes. */
import { missing } from '../errors.ts'
import { redactJsonLine, redactValue } from '../redact/redact.ts'
import type { Catalog } from './catalog.ts'
import type { CatalogEntry } from './catalog-rows.ts'
import {
  type Files,
  findMessage,
  foldFile,
  type Mark,
  newMarks,
  readDraft,
  readTail,
  withFile,
} from './files.ts'
import { isStateLine, parseEntry, type StoredState } from './entries.ts'
import type { Folded, Head } from './fold.ts'
import { readLines } from '../store/journal.ts'
import { spliceMessages } from './message-bytes.ts'
import type { Sessions, Tail } from './types.ts'

type ReaderOptions = { files: Files; catalog: Catalog; realId: (id: string) => string }

export const createReader = ({ files, catalog, realId }: ReaderOptions) => {
  const load = (given: string): Folded => {
    const file = files.find(realId(given))
    const folded = file && foldFile(file)?.folded
    if (!folded) throw missing('Session not found', { code: 'session_not_found' })
    return folded
  }

  const storedOf = (given: string): CatalogEntry => {
    const stored = catalog.get(realId(given))
    if (!stored) throw missing('Session not found', { code: 'session_not_found' })
    return stored
  }

  /** Parses the whole session: for files that are not in our own form. */
  const parsedTail = (given: string, limit: number, before: string | undefined): Tail => {
    const { messages } = load(given)
    const at = before === undefined ? -1 : messages.findIndex(({ id }) => id === before)
    if (before !== undefined && at === -1)
      throw missing('Message not found', { code: 'message_not_found' })
    const end = before === undefined ? messages.length : at
    const offset = Math.max(0, end - limit)
    return { messages: messages.slice(offset, end), offset, truncated: offset > 0 }
  }

  /** A page that ends before a message. Marks give an offset near it, so only its surroundings are read. */
  const tailBefore = (stored: CatalogEntry, limit: number, before: string): Tail => {
    const { id, cuts } = stored.summary
    const path = files.jsonl(id)
    const first: Mark = { n: 0, offset: 0, seen: 0 }
    const found = withFile(path, fd => {
      catalog.addMarks(id, newMarks(fd, cuts, catalog.lastMark(id) ?? first))
      // The line number of a message is never lower than its id.
      const n = Number(before.slice(1))
      const near = (Number.isInteger(n) && catalog.markBefore(id, n)) || first
      return findMessage(fd, before, cuts, near)
    })
    if (!found) throw missing('Message not found', { code: 'message_not_found' })
    const size = Math.min(limit, found.index)
    const file = { id, path, format: 'jsonl' as const }
    const messages = size === 0 ? [] : readTail(file, size, { before: found.offset, cuts })
    const offset = found.index - messages.length
    return { messages, offset, truncated: offset > 0 }
  }

  const rawTail = (given: string, limit: number, before: string | undefined): Tail => {
    const stored = storedOf(given)
    const { clean, format, count, id } = stored.summary
    if (!clean || format === 'json') return parsedTail(given, limit, before)
    if (before !== undefined) return tailBefore(stored, limit, before)
    const file = { id, path: files.jsonl(id), format: 'jsonl' as const }
    const messages = limit === 0 ? [] : readTail(file, limit)
    const offset = Math.max(0, count - messages.length)
    return { messages, offset, truncated: offset > 0 }
  }

  const head = (given: string): Head => {
    const { cuts: _, draft, clean: __, ...rest } = storedOf(given).summary
    if (!draft) return rest
    const composer_draft =
      rest.format === 'json' ? load(rest.id).meta.composer_draft : readDraft(files.jsonl(rest.id))
    return composer_draft ? { ...rest, meta: { ...rest.meta, composer_draft } } : rest
  }

  /** Read apart from the transcript, so that no other reader of a session can pass it on. The last line of a message counts. */
  const providerStates = (given: string): Map<string, StoredState> => {
    const states = new Map<string, StoredState>()
    const file = files.find(realId(given))
    if (file?.format !== 'jsonl') return states
    withFile(file.path, fd => {
      for (const { bytes } of readLines(fd)) {
        const entry = isStateLine(bytes) ? parseEntry(bytes.toString()) : null
        if (!entry || entry === 'unknown' || entry.t !== 'provider_state') continue
        const { id, key, items, sources } = entry
        states.set(id, { key, items, ...(sources && { sources }) })
      }
    })
    return states
  }

  return {
    load,
    providerStates,
    head,
    tail(given: string, { limit, before, raw = false }: Parameters<Sessions['tail']>[1]): Tail {
      const tail = rawTail(given, Math.max(0, Math.trunc(limit)), before)
      return raw ? tail : { ...tail, messages: redactValue(tail.messages) }
    },
    async wholeJson(given: string): Promise<Buffer> {
      const { clean, format, id, cuts } = storedOf(given).summary
      if (clean && format === 'jsonl') return spliceMessages(files.jsonl(id), cuts, redactJsonLine)
      return Buffer.from(JSON.stringify(redactValue(load(given).messages)))
    },
  }
}
