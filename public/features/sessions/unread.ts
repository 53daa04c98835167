/** Tracks which sessions have messages this browser has not shown yet. */
import { signal, type Signal } from '@preact/signals'
import type { SessionRow } from '../../../lib/schema/session.ts'
import type { Platform } from '../../platform.ts'

type Seen = Readonly<Record<string, number>>
/** Beyond this many entries the oldest are dropped. */
const MAX_ENTRIES = 500

export class Unread {
  readonly #platform: Pick<Platform, 'device' | 'clock'>
  readonly #counts: Signal<Readonly<Record<string, number>>>
  // Messages from before the first visit don't count as unread.
  readonly #since: number

  constructor(platform: Pick<Platform, 'device' | 'clock'>) {
    const { device, clock } = platform
    this.#platform = platform
    this.#counts = signal<Seen>(device.read<Seen>('viewed', {}))
    this.#since = device.read('viewed-since', clock.now() / 1000)
    device.write('viewed-since', this.#since)
  }

  markRead(row: Pick<SessionRow, 'session_id' | 'message_count'>): void {
    const { session_id: id, message_count: count } = row
    if (this.#counts.value[id] === count) return
    const { [id]: _, ...others } = this.#counts.value
    const kept = Object.entries(others).slice(-MAX_ENTRIES)
    this.#counts.value = { ...Object.fromEntries(kept), [id]: count }
    this.#platform.device.write('viewed', this.#counts.value)
  }

  isUnread(
    row: Pick<SessionRow, 'session_id' | 'message_count' | 'updated_at' | 'is_streaming'>,
  ): boolean {
    return (
      row.updated_at > this.#since &&
      !row.is_streaming &&
      row.message_count > (this.#counts.value[row.session_id] ?? 0)
    )
  }
}
