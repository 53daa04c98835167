/**
 * Shares one event stream between all tabs of a browser.
 *
 * A Web Lock elects the leader, which alone holds the connection; a BroadcastChannel carries its frames to the others and
 * their subscriptions back. When the leader closes, the next tab gets the lock and asks all tabs for their subscriptions; when it
 * is frozen (no ping for 15 s), a visible tab takes the lock away. Without Web Locks (plain HTTP beyond localhost) each tab
 * has its own stream.
 */
import type { Clock } from '../../lib/base/clock.ts'
import type { Frame } from '../../lib/schema/event.ts'
import { earlier, type Stream, type StreamState, type Positions } from './stream.ts'

export type Subscriptions = { positions: Positions; list: string }

type Post =
  | { kind: 'frame'; frame: Frame }
  | { kind: 'ping' }
  | { kind: 'state'; state: StreamState }
  | { kind: 'ask' }
  | { kind: 'here'; tab: string; wanted: [string, string][]; list: string }
  | { kind: 'bye'; tab: string }
  | { kind: 'retry' }

export type ChannelLike = {
  postMessage(message: unknown): void
  addEventListener(type: 'message', listener: (event: { data: unknown }) => void): void
  close(): void
}
export type LocksLike = {
  request(
    name: string,
    options: { steal?: boolean; signal?: AbortSignal },
    granted: () => Promise<void>,
  ): Promise<unknown>
}

export type TabLeaderOptions = {
  tab: string
  name: string
  stream: (on: Pick<TabLeaderOptions, 'onFrame' | 'onState'> & { onPing: () => void }) => Stream
  channel: ChannelLike | null
  locks: LocksLike | null
  /** Subscriptions of this tab, with their positions. */
  subscriptions: () => Subscriptions
  visible: () => boolean
  onFrame: (frame: Frame) => void
  onState: (state: StreamState) => void
  clock: Clock
}

const FROZEN_MS = 15_000
const EXPIRED_MS = 35_000
/** How long a new leader waits for the subscriptions of the other tabs. */
const GATHER_MS = 80

/** Union of the subscriptions of all tabs; the earlier position of a session wins. */
const mergeSubscriptions = (own: Subscriptions, others: Iterable<Subscriptions>): Subscriptions => {
  const positions = new Map(own.positions)
  let list = own.list
  for (const other of others) {
    for (const [id, at] of other.positions)
      positions.set(id, positions.has(id) ? earlier(positions.get(id)!, at) : at)
    list = list ? earlier(list, other.list) : other.list
  }
  return { positions, list }
}

/** What the page uses of it. */
export type Tabs = Pick<TabLeader, keyof TabLeader>

export class TabLeader {
  readonly #options: TabLeaderOptions
  readonly #others = new Map<string, Subscriptions & { lastSeenMs: number }>()
  #state: StreamState = { kind: 'idle' }
  #release: (() => void) | null = null
  #queued: AbortController | null = null
  #closed = false
  #cancelFrozen = () => {}
  #cancelGather = () => {}
  readonly #stream

  constructor(options: TabLeaderOptions) {
    const { onFrame, onState, channel } = options
    this.#options = options
    this.#stream = options.stream({
      onFrame: frame => {
        this.#post({ kind: 'frame', frame })
        onFrame(frame)
      },
      onPing: () => {
        this.#post({ kind: 'ping' })
        this.#prune()
      },
      onState: value => {
        this.#state = value
        // A former leader doesn't report its state; the new leader does.
        if (!this.#release) return
        this.#post({ kind: 'state', state: this.#state })
        onState(this.#state)
      },
    })
    channel?.addEventListener('message', event => this.#onMessage(event.data as Post))
  }

  readonly #lead = (): Promise<void> => {
    const { channel, clock } = this.#options
    return new Promise(resolve => {
      this.#release = resolve
      this.#cancelFrozen()
      this.#post({ kind: 'ask' })
      const begin = () => {
        this.#apply()
        this.#stream.start(this.#union().list)
      }
      if (channel) this.#cancelGather = clock.timer(GATHER_MS, begin)
      else begin()
    })
  }

  start(): void {
    if (!this.#options.locks) {
      void this.#lead()
      return
    }
    this.#follow()
    void this.#queue(false)
    this.#announce()
  }

  /** Call when the subscriptions of this tab have changed. */
  updateSubscriptions(): void {
    if (this.#release) this.#apply()
    else this.#announce()
  }

  retryNow(): void {
    if (this.#release) this.#stream.retryNow()
    else this.#post({ kind: 'retry' })
  }

  isLeader(): boolean {
    return this.#release !== null
  }

  close(): void {
    const { tab, channel } = this.#options
    this.#closed = true
    this.#post({ kind: 'bye', tab })
    this.#cancelFrozen()
    this.#queued?.abort()
    const release = this.#release
    this.#stepDown()
    release?.()
    channel?.close()
  }

  #post(message: Post): void {
    this.#options.channel?.postMessage(message)
  }

  #announce(): void {
    const { subscriptions, tab } = this.#options
    const { positions, list } = subscriptions()
    this.#post({ kind: 'here', tab, wanted: [...positions], list })
  }

  #union(): Subscriptions {
    return mergeSubscriptions(this.#options.subscriptions(), this.#others.values())
  }

  #apply(): void {
    const { positions, list } = this.#union()
    this.#stream.watch(positions, list)
  }

  #prune(): void {
    for (const [id, other] of this.#others)
      if (this.#options.clock.now() - other.lastSeenMs > EXPIRED_MS) this.#others.delete(id)
  }

  #follow(): void {
    const { locks, clock, visible } = this.#options
    this.#cancelFrozen()
    if (!locks || this.#closed) return
    this.#cancelFrozen = clock.timer(FROZEN_MS, () => {
      if (visible()) void this.#queue(true)
      else this.#follow()
    })
  }

  #stepDown(): void {
    this.#cancelGather()
    this.#release = null
    this.#stream.close()
  }

  async #queue(steal: boolean): Promise<void> {
    const { locks, name } = this.#options
    this.#queued?.abort()
    this.#queued = new AbortController()
    const waiting = this.#queued
    try {
      // The platform rejects `signal` together with `steal`. A stolen lock is granted at once, so there is nothing to abort.
      await locks?.request(name, steal ? { steal } : { signal: waiting.signal }, this.#lead)
    } catch {
      // Aborted while waiting, or the lock was stolen: this tab is not the leader.
      if (this.#queued !== waiting) return
      this.#stepDown()
      if (this.#closed) return
      this.#follow()
      void this.#queue(false)
    }
  }

  #onMessage(message: Post): void {
    const { clock, onFrame, onState } = this.#options
    const leading = this.#release !== null
    if (message.kind === 'here' && leading) {
      this.#others.set(message.tab, {
        positions: new Map(message.wanted),
        list: message.list,
        lastSeenMs: clock.now(),
      })
      this.#apply()
      this.#post({ kind: 'state', state: this.#state })
    } else if (message.kind === 'bye') this.#others.delete(message.tab)
    else if (message.kind === 'retry' && leading) this.#stream.retryNow()
    else if (!leading && message.kind === 'ask') this.#announce()
    else if (!leading && message.kind === 'ping') {
      this.#follow()
      this.#announce()
    } else if (!leading && message.kind === 'frame') {
      this.#follow()
      onFrame(message.frame)
    } else if (!leading && message.kind === 'state') {
      this.#follow()
      onState(message.state)
    }
  }
}
