/** Deleted files and folders, kept for a day so that a person can have them back. */
import { randomBytes } from 'node:crypto'
import { lstatSync, mkdirSync, readdirSync, renameSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { type Clock, fromSeconds, toSeconds } from '../base/clock.ts'
import { conflict, invalid, missing } from '../errors.ts'
import { writeAtomic } from '../store/atomic-write.ts'
import { errorCode, withUserErrorsAsync } from '../store/file-error.ts'
import { openDirHandle } from '../store/dir-handle.ts'
import { Mutex } from '../store/mutex.ts'
import type { FileScope } from './file-scope.ts'
import { copyEntry } from './copy.ts'
import { moveUnlessTaken, requireOwn } from './move-entries.ts'
import { readWholeText } from '../store/read-text.ts'

const KEPT_MS = 24 * 3_600_000
const TRASH_ID = /^[0-9a-f]{24}$/

/** What is known of an entry in the trash; it is written before the entry moves there. */
type About = { workspace: string; path: string; at: number }

const isThere = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined

export class Trash {
  readonly #dir: string
  readonly #clock: Clock
  readonly #mutex = new Mutex()

  constructor(dir: string, clock: Clock) {
    this.#dir = dir
    this.#clock = clock
  }

  #placeOf(id: string): string {
    return join(this.#dir, id)
  }

  #itemOf(id: string): string {
    return join(this.#dir, id, 'item')
  }

  #readAbout(id: string): About | undefined {
    try {
      const { workspace, path, at } = JSON.parse(
        readWholeText(join(this.#placeOf(id), 'about.json')),
      )
      return { workspace: String(workspace), path: String(path), at: Number(at) }
    } catch {
      // Killed before it was written: then the entry is still where it was.
      return undefined
    }
  }

  /** Another disk: a copy that is whole first, then the removal. */
  async #carry(from: string, to: string): Promise<void> {
    const partial = `${to}.partial`
    try {
      await copyEntry(from, partial)
      renameSync(partial, to)
    } catch (error) {
      await rm(partial, { recursive: true, force: true })
      throw error
    }
    await rm(from, { recursive: true, force: true })
  }

  /** Refuses folders unless `recursive`. */
  remove(
    area: FileScope,
    path: string,
    recursive: boolean,
  ): Promise<{ path: string; trash_id: string }> {
    return withUserErrorsAsync(async () => {
      using handle = openDirHandle(area, path, { link: true, isChange: true })
      const stat = requireOwn(area, handle)
      if (stat.isDirectory() && !recursive)
        throw invalid('Cannot delete a folder unless "recursive" is true', {
          code: 'invalid_request',
        })
      const id = randomBytes(12).toString('hex')
      mkdirSync(this.#placeOf(id), { recursive: true, mode: 0o700 })
      const about: About = {
        workspace: area.root,
        path: handle.path,
        at: toSeconds(this.#clock.now()),
      }
      writeAtomic(join(this.#placeOf(id), 'about.json'), JSON.stringify(about))
      try {
        renameSync(handle.at, this.#itemOf(id))
      } catch (error) {
        if (errorCode(error) !== 'EXDEV') {
          await rm(this.#placeOf(id), { recursive: true, force: true })
          throw error
        }
        await this.#carry(handle.at, this.#itemOf(id)).catch(async (failure: unknown) => {
          // The whole copy stays when only the removal failed half-way: it may be the last one.
          if (!isThere(this.#itemOf(id)))
            await rm(this.#placeOf(id), { recursive: true, force: true })
          throw failure
        })
      }
      handle.sync()
      return { path: handle.path, trash_id: id }
    })
  }

  /** Back to where it was, in the same workspace; refuses when the name is taken. `mayChange` throws when the person may not change that path. */
  restore(
    area: FileScope,
    id: string,
    mayChange?: (paths: readonly string[]) => void,
  ): Promise<{ path: string }> {
    return withUserErrorsAsync(() =>
      this.#mutex.run(id, async () => {
        const about = TRASH_ID.test(id) ? this.#readAbout(id) : undefined
        if (!about || about.workspace !== area.root || !isThere(this.#itemOf(id)))
          throw missing('It is not in the trash any more', { code: 'trash_entry_gone' })
        mayChange?.([about.path])
        using handle = openDirHandle(area, about.path, { link: true, create: 'any' })
        const nameConflict = () =>
          conflict(`There is a "${basename(handle.full)}" again`, {
            code: 'restore_taken',
            values: { name: basename(handle.full) },
          })
        try {
          moveUnlessTaken(this.#itemOf(id), handle.at)
        } catch (error) {
          if (errorCode(error) === 'EEXIST') throw nameConflict()
          if (errorCode(error) !== 'EXDEV') throw error
          if (isThere(handle.at)) throw nameConflict()
          const beside = handle.temporary()
          await this.#carry(this.#itemOf(id), beside)
          moveUnlessTaken(beside, handle.at)
        }
        handle.sync()
        await rm(this.#placeOf(id), { recursive: true, force: true })
        return { path: handle.path }
      }),
    )
  }

  #trashedAt(id: string): number {
    const about = this.#readAbout(id)
    return about ? fromSeconds(about.at) : statSync(this.#placeOf(id)).mtimeMs
  }

  /** Removes what has been here for a day; how many entries. */
  async sweep(): Promise<number> {
    if (!isThere(this.#dir)) return 0
    const old = readdirSync(this.#dir).filter(
      id => TRASH_ID.test(id) && this.#clock.now() - this.#trashedAt(id) > KEPT_MS,
    )
    for (const id of old) await rm(this.#placeOf(id), { recursive: true, force: true })
    return old.length
  }
}
