/** State of the event stream for the connection pill, and polling while the stream is down. */
import { signal } from '@preact/signals'
import type { StreamState } from '../../stream/stream.ts'
import type { Platform } from '../../platform.ts'

const POLL_MS = 30_000
/** A reconnect that succeeds within this time shows no pill. */
const QUIET_MS = 1_500

export class Connection {
  readonly #platform: Platform
  readonly #poll: () => Promise<unknown>
  readonly state = signal<StreamState>({ kind: 'idle' })
  readonly watchesHostSessions = signal(true)
  readonly seconds = signal(0)
  readonly #lostMs = signal<number | null>(null)
  /** Whether the pill is shown because of the connection. */
  readonly visible = signal(false)
  /** When the chats that the page shows were stored, in milliseconds since 1970; null: they are from the server. */
  readonly copyMs = signal<number | null>(null)
  /** Whether anything on the page is a stored copy. */
  readonly hasCopies = signal(false)
  /** The browser has no network, and the server does not answer. */
  readonly isOffline = signal(false)
  #cancelTick = () => {}
  #cancelPoll = () => {}
  #cancelQuiet = () => {}
  #polling = false

  constructor(platform: Platform, poll: () => Promise<unknown>) {
    this.#platform = platform
    this.#poll = poll
  }

  readonly #tick = (): void => {
    const { clock } = this.#platform
    this.#cancelTick()
    const value = this.state.value
    if (value.kind !== 'waiting') return
    this.seconds.value = Math.max(0, Math.ceil((value.retryAtMs - clock.now()) / 1000))
    this.#cancelTick = clock.timer(500, this.#tick)
  }

  /** The reply to this request is a copy of the service worker. */
  noteCopy(url: string, storedMs: number): void {
    this.hasCopies.value = true
    if (/\/api\/session\?/.test(url)) this.copyMs.value = storedMs
    else if (/\/api\/sessions\b/.test(url)) this.copyMs.value ??= storedMs
  }

  /** What was a copy is being fetched again. */
  forgetCopies(): void {
    this.hasCopies.value = false
    this.copyMs.value = null
  }

  setOffline(isOffline: boolean): void {
    this.isOffline.value = isOffline
    this.set(this.state.peek())
  }

  set(value: StreamState): void {
    const { clock } = this.#platform
    this.state.value = value
    this.#cancelQuiet()
    if (value.kind === 'live' || value.kind === 'idle') {
      this.#lostMs.value = null
      this.visible.value = this.isOffline.peek()
    } else {
      this.#lostMs.value ??= clock.now()
      const quietMs = QUIET_MS - (clock.now() - this.#lostMs.value)
      if (quietMs <= 0 || this.isOffline.peek()) this.visible.value = true
      else this.#cancelQuiet = clock.timer(quietMs, () => (this.visible.value = true))
    }
    this.#tick()
    this.#updatePolling()
  }

  /** Whether the server watches host sessions. While it doesn't, it sends no events about them and the page polls. */
  setWatchesHostSessions(alive: boolean): void {
    this.watchesHostSessions.value = alive
    this.#updatePolling()
  }

  close(): void {
    this.#cancelTick()
    this.#cancelPoll()
    this.#cancelQuiet()
  }

  #schedulePoll(): void {
    const { clock } = this.#platform
    this.#cancelPoll()
    this.#cancelPoll = clock.timer(POLL_MS, async () => {
      try {
        await this.#poll()
      } catch {
        // Still unreachable; the pill shows it.
      }
      this.#schedulePoll()
    })
  }

  #updatePolling(): void {
    const needed = !this.watchesHostSessions.value || this.#lostMs.value !== null
    if (needed === this.#polling) return
    this.#polling = needed
    if (needed) this.#schedulePoll()
    else this.#cancelPoll()
  }
}
