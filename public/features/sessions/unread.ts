/** Tracks which sessions have messages this browser has not shown yet. */
import { signal } from '@preact/signals'
import type { SessionRow } from '../../../lib/schema/session.ts'
import type { Platform } from '../../platform.ts'

type Seen = Readonly<Record<string, number>>
/** Beyond this many entries the oldest are dropped. */
const MAX_ENTRIES = 500

export const createUnread = ({ device, clock }: Pick<Platform, 'device' | 'clock'>) => {
  const counts = signal<Seen>(device.read<Seen>('viewed', {}))
  // Messages from before the first visit don't count as unread.
  const since = device.read('viewed-since', clock.now() / 1000)
  device.write('viewed-since', since)

  return {
    markRead(row: Pick<SessionRow, 'session_id' | 'message_count'>): void {
      const { session_id: id, message_count: count } = row
      if (counts.value[id] === count) return
      const { [id]: _, ...others } = counts.value
      const kept = Object.entries(others).slice(-MAX_ENTRIES)
      counts.value = { ...Object.fromEntries(kept), [id]: count }
      device.write('viewed', counts.value)
    },
    isUnread: (
      row: Pick<SessionRow, 'session_id' | 'message_count' | 'updated_at' | 'is_streaming'>,
    ): boolean =>
      row.updated_at > since &&
      !row.is_streaming &&
      row.message_count > (counts.value[row.session_id] ?? 0),
  }
}

export type Unread = ReturnType<typeof createUnread>
