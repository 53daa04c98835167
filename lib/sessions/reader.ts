/** Reads one session: completely, a page from the end, or its messages as JSON bytes. */
import type { Clock } from '../base/clock.ts'
import { missing } from '../errors.ts'
import { redactJsonLine, redactValue, secretsVersion } from '../base/redact/redact.ts'
import type { Catalog } from './catalog.ts'
import type { CatalogSync } from './catalog-sync.ts'
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
import {
  type Entry,
  isStateLine,
  type NewEntry,
  parseEntry,
  parseForTranscript,
  type StoredState,
} from './entries.ts'
import type { Folded, Head } from './fold.ts'
import { fileStamp, readLines, type Stamp } from '../store/journal.ts'
import { spliceMessages } from './message-bytes.ts'
import { createRecentReads } from './recent-reads.ts'
import type { Sessions, Tail } from './types.ts'
import { lineToShow, withVersions } from './versions.ts'
import { closeSync } from 'node:fs'
import { openFile } from '../store/read-text.ts'

type ReaderOptions = {
  clock: Clock
  files: Files
  catalog: Catalog
  realId: (id: string) => string
  catalogSync: Pick<CatalogSync, 'requireReadable'>
}

/** Pages of larger files are not kept: their size in memory is not known without a look at each message. */
const MAX_KEPT_FILE = 512 * 1024

/** Where a session may contain secrets: a few numbers, which take most of the time of reading it to find. */
const PLACES_BYTES = 256 * 1024
const PLACES_KEPT_MS = 10 * 60_000
/** With the key and the version. */
const placesBytes = (found: readonly number[]): number => 200 + 8 * found.length

const fileBytes = (stamp: Stamp): number => Number(stamp.split(':')[1])

export const createReader = ({ clock, files, catalog, catalogSync, realId }: ReaderOptions) => {
  const { requireReadable } = catalogSync
  const recent = createRecentReads({ clock })
  const places = createRecentReads({ clock, maxBytes: PLACES_BYTES, keptMs: PLACES_KEPT_MS })

  const load = (given: string): Folded => {
    requireReadable(realId(given))
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

  /** All lines of a journal, without the content of long ones that only the engine reads. */
  function* entriesOf(path: string): Generator<Entry> {
    const fd = openFile(path)
    try {
      for (const { bytes } of readLines(fd)) {
        const entry = parseForTranscript(bytes.toString())
        if (entry && entry !== 'unknown') yield entry
      }
    } finally {
      closeSync(fd)
    }
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
    lineToShow(given: string, message: string): NewEntry | null {
      const { id, versions } = storedOf(given).summary
      return lineToShow(versions.length > 0 ? entriesOf(files.jsonl(id)) : [], versions, message)
    },
    head,
    tail(given: string, { limit, before, raw = false }: Parameters<Sessions['tail']>[1]): Tail {
      requireReadable(realId(given))
      const count = Math.max(0, Math.trunc(limit))
      if (raw) return rawTail(given, count, before)
      const { stamp, summary } = storedOf(given)
      const masked = (): Tail => {
        const tail = rawTail(given, count, before)
        const messages = redactValue(tail.messages)
        return { ...tail, messages: messages.map(each => withVersions(each, summary.versions)) }
      }
      const bytes = fileBytes(stamp)
      if (bytes > MAX_KEPT_FILE) return masked()
      const key = `${summary.id} ${count} ${before ?? ''}`
      return recent.read(key, `${stamp} ${secretsVersion()}`, masked, () => bytes)
    },
    async wholeJson(given: string): Promise<Buffer> {
      requireReadable(realId(given))
      const { summary, stamp } = storedOf(given)
      const { clean, format, id, cuts, versions } = summary
      const version = `${stamp} ${secretsVersion()}`
      const make = () =>
        clean && format === 'jsonl'
          ? spliceMessages(files.jsonl(id), {
              cuts,
              versions,
              redact: redactJsonLine,
              // The file may have changed since it was compared.
              places: (size, find) =>
                fileStamp(files.jsonl(id)) === stamp
                  ? places.read(id, `${version} ${size}`, find, placesBytes)
                  : find(),
            })
          : Buffer.from(
              JSON.stringify(
                redactValue(load(given).messages).map(each => withVersions(each, versions)),
              ),
            )
      return recent.read(id, version, make, made => made.length)
    },
  }
}
