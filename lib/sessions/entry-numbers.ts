/** Assigns line numbers, message ids and times to new journal lines. */
import { type Clock, fromSeconds, toSeconds } from '../base/clock.ts'
import type { Message } from '../schema/message.ts'
import type { Entry, NewEntry } from './entries.ts'
import type { Summary } from './fold.ts'

const idNumber = (id: string | undefined): number => {
  const match = id === undefined ? null : /^m([1-9]\d{0,14})$/.exec(id)
  return match ? Number(match[1]) : 0
}

export const createEntryNumbers = (clock: Pick<Clock, 'now'>) => {
  /** Numbers promised to messages that are still being streamed, by session. */
  const reserved = new Map<string, Set<number>>()
  let lastMs = 0

  /** The time of a message, in seconds: later than `previous` and than every earlier one, even when the clock goes back. */
  const nextTime = (previous: number): number => {
    lastMs = Math.max(Math.round(clock.now()), lastMs + 1)
    return toSeconds(Math.max(lastMs, Math.round(fromSeconds(previous)) + 1))
  }

  return {
    nextTime,

    /** Reserves the next free message id of a session. `nextN`: its next free line number. */
    reserveId(id: string, nextN: number): string {
      const promised = reserved.get(id) ?? new Set<number>()
      reserved.set(id, promised)
      let n = nextN
      while (promised.has(n)) n += 1
      promised.add(n)
      return `m${n}`
    },

    /** The lines to append. `quiet` messages get the time of the last one, so that the session does not move in the list. */
    assign(
      id: string,
      entries: readonly NewEntry[],
      summary: Pick<Summary, 'nextN' | 'updated_at'>,
      quiet = false,
    ): Entry[] {
      const promised = reserved.get(id)
      let n = summary.nextN
      let time = summary.updated_at
      const at = toSeconds(Math.round(clock.now()))
      // A file that lost its first line has no header: write one before anything else.
      const all: NewEntry[] =
        n === 1 && entries[0]?.t !== 'session'
          ? [{ t: 'session', v: 1, id, meta: {} }, ...entries]
          : [...entries]
      return all.map((entry): Entry => {
        if (entry.t === 'session') time = nextTime(time)
        if (entry.t !== 'message') {
          return { ...entry, n: n++, at: entry.t === 'session' ? time : at } as Entry
        }
        const given = idNumber(entry.message.id)
        // Skipped numbers stay unused, so that no id is assigned twice.
        if (given > 0) n = Math.max(n, given)
        else while (promised?.has(n)) n += 1
        if (!quiet) time = nextTime(time)
        const message = { ...entry.message, id: given > 0 ? entry.message.id : `m${n}` } as Message
        return { n: n++, t: 'message', at: time, message }
      })
    },

    /** Moves reservations to the new id of a session. */
    rename(id: string, to: string): void {
      const promised = reserved.get(id)
      if (promised) reserved.set(to, promised)
      reserved.delete(id)
    },

    /** Drops the reservations of a session. */
    release: (id: string): void => void reserved.delete(id),
  }
}
