/** State of the event stream for the connection pill, and polling while the stream is down. */
import { signal } from '@preact/signals'
import type { StreamState } from '../../stream/stream.ts'
import type { Platform } from '../../platform.ts'

const POLL_MS = 30_000
/** A reconnect that succeeds within this time shows no pill. */
const QUIET_MS = 1_500

export const createConnection = (
  { clock }: Pick<Platform, 'clock'>,
  poll: () => Promise<unknown>,
) => {
  const state = signal<StreamState>({ kind: 'idle' })
  const watchesHostSessions = signal(true)
  const seconds = signal(0)
  const lostMs = signal<number | null>(null)
  const visible = signal(false)
  const copyMs = signal<number | null>(null)
  const hasCopies = signal(false)
  let cancelTick = () => {}
  let cancelPoll = () => {}
  let cancelQuiet = () => {}

  const tick = (): void => {
    cancelTick()
    const value = state.value
    if (value.kind !== 'waiting') return
    seconds.value = Math.max(0, Math.ceil((value.retryAtMs - clock.now()) / 1000))
    cancelTick = clock.timer(500, tick)
  }

  const schedulePoll = (): void => {
    cancelPoll()
    cancelPoll = clock.timer(POLL_MS, async () => {
      try {
        await poll()
      } catch {
        // Still unreachable; the pill shows it.
      }
      schedulePoll()
    })
  }

  let polling = false
  const updatePolling = (): void => {
    const needed = !watchesHostSessions.value || lostMs.value !== null
    if (needed === polling) return
    polling = needed
    if (needed) schedulePoll()
    else cancelPoll()
  }

  return {
    state,
    seconds,
    watchesHostSessions,
    /** Whether the pill is shown because of the connection. */
    visible,
    /** When the chats that the page shows were stored, in milliseconds since 1970; null: they are from the server. */
    copyMs,
    /** Whether anything on the page is a stored copy. */
    hasCopies,
    /** The reply to this request is a copy of the service worker. */
    noteCopy(url: string, storedMs: number): void {
      hasCopies.value = true
      if (/\/api\/session\?/.test(url)) copyMs.value = storedMs
      else if (/\/api\/sessions\b/.test(url)) copyMs.value ??= storedMs
    },
    /** What was a copy is being fetched again. */
    forgetCopies(): void {
      hasCopies.value = false
      copyMs.value = null
    },
    set(value: StreamState): void {
      state.value = value
      cancelQuiet()
      if (value.kind === 'live' || value.kind === 'idle') {
        lostMs.value = null
        visible.value = false
      } else {
        lostMs.value ??= clock.now()
        const quietMs = QUIET_MS - (clock.now() - lostMs.value)
        if (quietMs <= 0) visible.value = true
        else cancelQuiet = clock.timer(quietMs, () => (visible.value = true))
      }
      tick()
      updatePolling()
    },
    /** Whether the server watches host sessions. While it doesn't, it sends no events about them and the page polls. */
    setWatchesHostSessions(alive: boolean): void {
      watchesHostSessions.value = alive
      updatePolling()
    },
    close(): void {
      cancelTick()
      cancelPoll()
      cancelQuiet()
    },
  }
}

export type Connection = ReturnType<typeof createConnection>
