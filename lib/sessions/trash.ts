/** Trash, permanent deletion and purging of sessions: the only code that deletes session content. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import { fromSeconds, toSeconds } from '../base/clock.ts'
import { isObject } from '../base/json.ts'
import { conflict, messageOf } from '../errors.ts'
import { writeAtomic } from '../store/atomic-write.ts'
import { SESSION_ID } from '../schema/ids.ts'
import type { SessionRow } from '../schema/session.ts'
import { fileStamp } from '../store/journal.ts'
import { type JournalEntry, questionId } from './entries.ts'
import { readEntries, sessionMissing, writeJournal } from './files.ts'
import type { Folded } from './fold.ts'
import { toEntries } from './legacy.ts'
import type { SearchClient } from './search-client.ts'
import type { SessionParts, SessionWriter } from './writer.ts'
import { readWhole, readWholeText } from '../store/read-text.ts'
import { reportWrite } from '../store/write-reports.ts'

const TRASH_MS = 24 * 3_600_000

/** The lines to keep in a purge: without what was cut, overwritten or resolved, and without other versions. Numbers and ids stay, and none becomes free. */
const survivingEntries = (
  folded: Folded,
  entries: readonly JournalEntry[],
  now: number,
): JournalEntry[] => {
  const ids = new Set(folded.messages.map(({ id }) => id))
  const summaries = new Set(folded.summaries.map(({ n }) => n))
  const open = new Set(folded.questions.map(question => JSON.stringify(question)))
  const decided = new Set(
    folded.messages.flatMap(({ _decisions: all = [] }) => all.map(({ id }) => id)),
  )
  const { created_at, updated_at } = folded
  const header: JournalEntry = {
    n: 1,
    t: 'session',
    at: created_at,
    v: 1,
    id: folded.id,
    gen: folded.gen + 1,
    meta: { ...folded.meta, created_at, updated_at },
  }
  const rest = entries.filter(entry => {
    if (entry.t === 'message') return ids.has(entry.message.id)
    if (entry.t === 'sent' || entry.t === 'provider_state') return ids.has(entry.id)
    if (entry.t === 'summary') return summaries.has(entry.n)
    if (entry.t === 'asked')
      return (
        open.has(JSON.stringify(entry.question)) || decided.has(questionId(entry.question) ?? '')
      )
    if (entry.t === 'answered') return decided.has(entry.id)
    return entry.t === 'turn_started' || entry.t === 'turn_ended' || entry.t === 'renamed'
  })
  for (const entry of rest) if (entry.t === 'turn_started') delete entry.replaces
  return [header, ...rest, { n: folded.nextN, t: 'meta', at: toSeconds(now), patch: {} }]
}

const requireIdle = (row: SessionRow): void => {
  if (row.active_stream_id === null) return
  throw conflict('This chat is still running. Stop it or wait until it finishes.', {
    code: 'session_busy',
    active_stream_id: row.active_stream_id,
  })
}

/** What was noted when the session was moved to this trash directory; empty when the process was killed before that. */
const readAbout = (dir: string): { at?: unknown; profile?: unknown } => {
  try {
    const about: unknown = JSON.parse(readWholeText(join(dir, 'about.json')))
    return isObject(about) ? about : {}
  } catch {
    return {}
  }
}

/** When the session was moved to this trash directory, in milliseconds since 1970. */
const trashedAt = (dir: string): number => {
  const { at } = readAbout(dir)
  return at === undefined ? statSync(dir).mtimeMs : fromSeconds(Number(at))
}

export class Trash {
  readonly #parts: SessionParts
  readonly #writer: SessionWriter
  readonly #search: SearchClient

  constructor(parts: SessionParts, writer: SessionWriter, search: SearchClient) {
    this.#parts = parts
    this.#writer = writer
    this.#search = search
  }

  #dirOf(id: string): string {
    return join(this.#parts.options.trashDir, id)
  }

  #removeFromCatalog(id: string): void {
    this.#writer.closeJournal(id)
    const { catalog, options } = this.#parts
    const profile = catalog.row(id)?.profile
    options.onDeleted(id, profile, catalog.remove(id))
  }

  /** The journal first: after a kill, everything else is deleted because the journal is missing. */
  #deleteFiles(paths: readonly string[]): void {
    for (const path of paths) {
      rmSync(path, { force: true })
      reportWrite(path)
    }
  }

  #delete(id: string): void {
    const { files, watch } = this.#parts
    watch.ignoreOwn(() => this.#deleteFiles(files.all(id)))
    this.#removeFromCatalog(id)
  }

  #deleteDir(id: string): void {
    rmSync(this.#dirOf(id), { recursive: true, force: true })
    reportWrite(this.#dirOf(id))
  }

  /** Deletes the content of removed sessions from the catalog, the search index and their write-ahead logs. */
  async #purgeDerived(): Promise<void> {
    const { catalog, options } = this.#parts
    const tombstones = catalog.tombstones()
    catalog.truncateWal()
    try {
      await this.#search.purgeDeleted()
    } catch (error) {
      // It may contain deleted content, so delete all of it. The next search rebuilds it.
      options.log('deleted the search index because it could not be purged', {
        error: messageOf(error),
      })
      await this.#search.remove()
    }
    catalog.clearTombstones(tombstones)
    catalog.truncateWal()
  }

  #filesOf(id: string): string[] {
    return SESSION_ID.test(id) && existsSync(this.#dirOf(id))
      ? readdirSync(this.#dirOf(id)).filter(name => name.startsWith(`${id}.`))
      : []
  }

  trash(row: SessionRow): void {
    requireIdle(row)
    const { files, watch, options } = this.#parts
    const { session_id: id, profile } = row
    const dir = this.#dirOf(id)
    rmSync(dir, { recursive: true, force: true })
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    const about = { session_id: id, at: toSeconds(options.clock.now()), profile }
    writeAtomic(join(dir, 'about.json'), JSON.stringify(about))
    watch.ignoreOwn(() => {
      for (const path of files.all(id)) {
        if (fileStamp(path)) renameSync(path, join(dir, basename(path)))
        reportWrite(path)
      }
    })
    reportWrite(dir)
    this.#removeFromCatalog(id)
  }

  has(id: string): boolean {
    return this.#filesOf(id).length > 0
  }

  profileOf(id: string): string | undefined {
    const { profile } = this.has(id) ? readAbout(this.#dirOf(id)) : {}
    return typeof profile === 'string' ? profile : undefined
  }

  restore(id: string): void {
    const own = this.#filesOf(id)
    if (own.length === 0) throw sessionMissing()
    const { files, sync, watch } = this.#parts
    if (files.find(id))
      throw conflict('A session with this id already exists', { code: 'session_exists' })
    watch.ignoreOwn(() => {
      // The journal last: without it, the other files are not taken for a session.
      const last = (name: string): number => Number(name === `${id}.jsonl`)
      for (const name of own.sort((a, b) => last(a) - last(b))) {
        renameSync(join(this.#dirOf(id), name), files.path(name))
        reportWrite(files.path(name))
      }
    })
    this.#deleteDir(id)
    sync.refresh(id)
  }

  async purge(row: SessionRow): Promise<void> {
    requireIdle(row)
    const { session_id: id } = row
    const { files, sync, watch, options } = this.#parts
    const folded = files.fold(id)?.folded
    if (!folded) throw sessionMissing()
    this.#writer.closeJournal(id)
    const entries =
      folded.format === 'json'
        ? (toEntries(id, readWhole(files.json(id))) ?? [])
        : readEntries(files.jsonl(id))
    watch.ignoreOwn(() => {
      writeJournal(files.jsonl(id), survivingEntries(folded, entries, options.clock.now()))
      this.#deleteFiles(files.all(id).slice(1))
    })
    sync.refresh(id)
    await this.#purgeDerived()
  }

  /** `row`: of a session that is not in the trash. False when there is none in either place. */
  async erase(id: string, row: SessionRow | undefined): Promise<boolean> {
    if (!row && !existsSync(this.#dirOf(id))) return false
    if (row) {
      requireIdle(row)
      this.#delete(id)
    }
    this.#deleteDir(id)
    await this.#purgeDerived()
    return true
  }

  async sweep(): Promise<number> {
    const { catalog, options } = this.#parts
    if (!existsSync(options.trashDir)) return 0
    const old = readdirSync(options.trashDir).filter(
      id => SESSION_ID.test(id) && options.clock.now() - trashedAt(this.#dirOf(id)) > TRASH_MS,
    )
    for (const id of old) this.#deleteDir(id)
    // Tombstones without old trash: a killed process did not finish its purge.
    if (old.length > 0 || catalog.tombstones().length > 0) await this.#purgeDerived()
    return old.length
  }

  cleanup(anyTitle: boolean): number {
    const { catalog, sync, watch } = this.#parts
    sync.catchUp(watch)
    const ids = catalog.emptySessions(anyTitle).filter(id => !this.#writer.isOpen(id))
    for (const id of ids) this.#delete(id)
    return ids.length
  }
}
