/** Deletes sessions from the host agent's database and restores them from the trash. */
import { existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, toSeconds } from '../../base/clock.ts'
import { missing } from '../../errors.ts'
import { SESSION_ID } from '../../schema/ids.ts'
import { writeAtomic } from '../../store/atomic-write.ts'
import { readWholeText } from '../../store/read-text.ts'
import { deleteSession, formatDump, parseDump, readDump, restoreDump } from './session-dump.ts'
import { type Database, type HostHome, stateDbPath, stateError, writeState } from './state-db.ts'

/** No file of a session of ours can have this name: those begin with the id and a dot. */
const DUMP_FILE = 'state-db-rows'

export type SessionTrashOptions = {
  trashDir: string
  addon: string | undefined
  /** Called after rows of a home were deleted or restored. */
  onChange: (home: HostHome) => void
  /** Seconds since 1970. */
  clock: Pick<Clock, 'now'>
}

export const createSessionTrash = (options: SessionTrashOptions) => {
  const { trashDir, addon, onChange, clock } = options
  const trashOf = (id: string): string => join(trashDir, id)

  /** Throws a UserError when the database stays busy or cannot be used: nothing was changed then. */
  const write = async <T>(home: HostHome, work: (db: Database) => T): Promise<T | undefined> => {
    try {
      return await writeState(stateDbPath(home), addon, work)
    } catch (error) {
      throw stateError(error)
    }
  }

  return {
    /** Deletes a session from the database; unless `permanent`, its rows stay in the trash for a day. False when there is none. */
    async remove(home: HostHome, id: string, { permanent = false } = {}): Promise<boolean> {
      if (!SESSION_ID.test(id)) return false
      const isRemoved = await write(home, db => {
        const dump = readDump(db, id)
        if (!dump) return false
        if (!permanent) {
          // Before the delete: after a kill in between, the rows exist twice and can be deleted again.
          const dir = trashOf(id)
          mkdirSync(dir, { recursive: true, mode: 0o700 })
          const about = join(dir, 'about.json')
          if (!existsSync(about))
            writeAtomic(about, JSON.stringify({ session_id: id, at: toSeconds(clock.now()) }))
          writeAtomic(join(dir, DUMP_FILE), `${home.name}\n${formatDump(dump)}`)
        }
        deleteSession(db, id)
        return true
      })
      if (isRemoved) onChange(home)
      return isRemoved === true
    },

    /** Restores deleted rows to the database they came from. Undefined when the trash has none. */
    async restore(
      homeOf: (profile: string) => HostHome,
      id: string,
    ): Promise<HostHome | undefined> {
      const path = join(trashOf(id), DUMP_FILE)
      if (!SESSION_ID.test(id) || !existsSync(path)) return undefined
      const text = readWholeText(path)
      const cut = text.indexOf('\n')
      const home = homeOf(text.slice(0, cut))
      const dump = parseDump(text.slice(cut + 1))
      const done = await write(home, db => {
        restoreDump(db, dump)
        return true
      })
      if (!done)
        throw missing('The database this session came from no longer exists', {
          code: 'session_not_found',
        })
      rmSync(path, { force: true })
      onChange(home)
      return home
    },

    /** The profile whose deleted rows `restore` would find. */
    trashedProfile(id: string): string | undefined {
      const path = join(trashOf(id), DUMP_FILE)
      if (!SESSION_ID.test(id) || !existsSync(path)) return undefined
      return readWholeText(path).split('\n', 1)[0]
    },

    /** Deletes the trash directory of a session that had only database rows in it. */
    removeFromTrash(id: string): void {
      if (SESSION_ID.test(id)) rmSync(trashOf(id), { recursive: true, force: true })
    },
  }
}
