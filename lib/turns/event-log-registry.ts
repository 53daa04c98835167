/** Event logs of running and recently finished turns. */
import { missing } from '../errors.ts'
import type { EventLog } from './event-log.ts'

/** How long the log of a finished turn stays readable. */
const RETENTION_MS = 5 * 60_000

export type EventLogRegistry = ReturnType<typeof createEventLogRegistry>

export const createEventLogRegistry = (retentionMs: number = RETENTION_MS) => {
  const logs = new Map<string, EventLog>()
  const removals = new Set<NodeJS.Timeout>()

  return {
    put: (log: EventLog): void => void logs.set(log.stream_id, log),
    /** Throws 'stream not found' for an unknown or expired stream. */
    get(streamId: string): EventLog {
      const log = logs.get(streamId)
      if (!log) throw missing('stream not found', { code: 'stream_not_found' })
      return log
    },
    /** Closes a log. Its file is removed after the retention time. */
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
