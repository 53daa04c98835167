/** The logs of running turns and of those that ended a while ago, for whoever comes late. */
import { missing } from '../errors.ts'
import type { EventLog } from './event-log.ts'

/** How long a finished turn's log can still be read. */
const RETENTION_MS = 5 * 60_000

export type EventLogRegistry = ReturnType<typeof createEventLogRegistry>

export const createEventLogRegistry = (retentionMs: number = RETENTION_MS) => {
  const logs = new Map<string, EventLog>()
  const removals = new Set<NodeJS.Timeout>()

  return {
    put: (log: EventLog): void => void logs.set(log.stream_id, log),
    /** Throws 'stream not found' for one that never was, or whose time is over. */
    get(streamId: string): EventLog {
      const log = logs.get(streamId)
      if (!log) throw missing('stream not found', { code: 'stream_not_found' })
      return log
    },
    /** Ends a log; it stays readable for a while, then its file goes. */
    retire(log: EventLog): void {
      log.close()
      const timer = setTimeout(() => {
        removals.delete(timer)
        logs.delete(log.stream_id)
        log.remove()
      }, retentionMs)
      timer.unref()
      removals.add(timer)
    },
    close(): void {
      for (const timer of removals) clearTimeout(timer)
      for (const log of logs.values()) log.close()
    },
  }
}
