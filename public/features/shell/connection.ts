/** How the live connection stands, for the pill; and the polling that replaces it while it cannot be had. */
import { signal } from '@preact/signals'
import type { StreamState } from '../../stream/stream.ts'
import type { Platform } from '../../platform.ts'

const POLL_MS = 30_000
/** A reconnect that succeeds quickly is not worth telling. */
const QUIET_MS = 1_500

export const createConnection = (
  { nowMs, schedule }: Pick<Platform, 'nowMs' | 'schedule'>,
  poll: () => Promise<unknown>,
) => {
  const state = signal<StreamState>({ kind: 'idle' })
  const watchesHostSessions = signal(true)
  const seconds = signal(0)
  const lostMs = signal<number | null>(null)
  const visible = signal(false)
  let cancelTick = () => {}
  let cancelPoll = () => {}
  let cancelQuiet = () => {}

  const tick = (): void => {
    cancelTick()
    const value = state.value
    if (value.kind !== 'waiting') return
    seconds.value = Math.max(0, Math.ceil((value.retryAtMs - nowMs()) / 1000))
    cancelTick = schedule(tick, 500)
  }

  const schedulePoll = (): void => {
    cancelPoll()
    cancelPoll = schedule(async () => {
      try {
        await poll()
      } catch {
        // Unreachable still; the pill says so.
      }
      schedulePoll()
    }, POLL_MS)
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
    /** The pill is shown. */
    visible,
    set(value: StreamState): void {
      state.value = value
      cancelQuiet()
      if (value.kind === 'live' || value.kind === 'idle') {
        lostMs.value = null
        visible.value = false
      } else {
        lostMs.value ??= nowMs()
        const quietMs = QUIET_MS - (nowMs() - lostMs.value)
        if (quietMs <= 0) visible.value = true
        else cancelQuiet = schedule(() => (visible.value = true), quietMs)
      }
      tick()
      updatePolling()
    },
    /** Whether the service watches command-line sessions; it tells nothing about them while it does not. */
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
