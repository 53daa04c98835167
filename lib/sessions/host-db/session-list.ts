/** The session list of the host agent's database, cached per home until the database changes. */
import { messageOf } from '../../errors.ts'
import type { SessionRow } from '../../schema/session.ts'
import { missingColumns, readRows, type RowOptions } from './session-rows.ts'
import { dbStamp, type HostHome, readState, stateDbPath } from './state-db.ts'

export type SessionListOptions = {
  rowOptions: (home: HostHome) => RowOptions
  log: (line: string, extra?: Record<string, unknown>) => void
  addon: string | undefined
}

/** The list at the database state `stamp`. `rows` stays the same array while nothing changed. */
type CachedList = {
  stamp: string | undefined
  workspace: string
  text: string
  rows: SessionRow[]
  /** Why it could not be read; null when it could. */
  problem: string | null
}

export const createSessionList = ({ rowOptions, log, addon }: SessionListOptions) => {
  const cache = new Map<string, CachedList>()
  const warned = new Set<string>()
  const warnOnce = (home: HostHome, missing: readonly string[]): void => {
    const text = missing.join(', ')
    const key = `${home.dir}\n${text}`
    if (text === '' || warned.has(key)) return
    warned.add(key)
    log('the agent’s database lacks columns; its sessions are shown as far as they can be read', {
      home: home.dir,
      missing: text,
    })
  }

  return {
    get(home: HostHome): CachedList {
      const file = stateDbPath(home)
      const stamp = dbStamp(file)
      const options = rowOptions(home)
      const { workspace } = options
      const last = cache.get(home.dir)
      if (last && stamp !== undefined && stamp === last.stamp && workspace === last.workspace)
        return last
      const next: CachedList = { stamp, workspace, text: '[]', rows: [], problem: null }
      try {
        next.rows =
          readState(file, addon, db => {
            warnOnce(home, missingColumns(db))
            return readRows(db, options)
          }) ?? []
        next.text = JSON.stringify(next.rows)
      } catch (error) {
        // What was read last is shown until it can be read again, which the next call tries, whether or not the file changed.
        const { rows = [], text = '[]' } = last ?? {}
        Object.assign(next, { rows, text, stamp: undefined, problem: messageOf(error) })
        if (last?.problem !== next.problem)
          log('could not list CLI sessions', { home: home.dir, error: next.problem })
      }
      if (last?.text === next.text) next.rows = last.rows
      cache.set(home.dir, next)
      return next
    },
    /** Forces the next `get` to read the database. */
    invalidate: (home: HostHome): void => void cache.delete(home.dir),
  }
}
