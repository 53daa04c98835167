/** Event logs of running and recently finished turns. */
import type { Clock } from '../base/clock.ts'
import { missing } from '../errors.ts'
import type { EventLog } from './event-log.ts'

/** How long the log of a finished turn stays readable. */
const RETENTION_MS = 5 * 60_000

export type EventLogRegistry = ReturnType<typeof createEventLogRegistry>

export const createEventLogRegistry = ({
  clock,
  logRetentionMs = RETENTION_MS,
}: {
  clock: Pick<Clock, 'timer'>
  logRetentionMs?: number
}) => {
  const logs = new Map<string, EventLog>()
  const removals = new Set<() => void>()

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
      const cancel = clock.timer(logRetentionMs, () => {
        removals.delete(cancel)
        logs.delete(log.stream_id)
        log.remove()
      })
      removals.add(cancel)
    },
    close(): void {
      for (const cancel of removals) cancel()
      for (const log of logs.values()) log.close()
    },
  }
}
