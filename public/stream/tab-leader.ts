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
import { earlier, type Stream, type StreamState, type Wanted } from './stream.ts'

export type Subscriptions = { wanted: Wanted; list: string }

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
  const wanted = new Map(own.wanted)
  let list = own.list
  for (const other of others) {
    for (const [id, at] of other.wanted)
      wanted.set(id, wanted.has(id) ? earlier(wanted.get(id)!, at) : at)
    list = list ? earlier(list, other.list) : other.list
  }
  return { wanted, list }
}

export const createTabLeader = (options: TabLeaderOptions) => {
  const { tab, name, channel, locks, subscriptions, visible, onFrame, onState, clock } = options
  const others = new Map<string, Subscriptions & { lastSeenMs: number }>()
  let state: StreamState = { kind: 'idle' }
  let release: (() => void) | null = null
  let queued: AbortController | null = null
  let closed = false
  let cancelFrozen = () => {}
  let cancelGather = () => {}

  const post = (message: Post): void => channel?.postMessage(message)
  const announce = (): void => {
    const { wanted, list } = subscriptions()
    post({ kind: 'here', tab, wanted: [...wanted], list })
  }

  const stream = options.stream({
    onFrame(frame) {
      post({ kind: 'frame', frame })
      onFrame(frame)
    },
    onPing() {
      post({ kind: 'ping' })
      prune()
    },
    onState(value) {
      state = value
      // A former leader doesn't report its state; the new leader does.
      if (!release) return
      post({ kind: 'state', state })
      onState(state)
    },
  })

  const union = () => mergeSubscriptions(subscriptions(), others.values())

  const apply = (): void => {
    const { wanted, list } = union()
    stream.watch(wanted, list)
  }

  const prune = (): void => {
    for (const [id, other] of others)
      if (clock.now() - other.lastSeenMs > EXPIRED_MS) others.delete(id)
  }

  const follow = (): void => {
    cancelFrozen()
    if (!locks || closed) return
    cancelFrozen = clock.timer(FROZEN_MS, () => {
      if (visible()) void queue(true)
      else follow()
    })
  }

  const lead = (): Promise<void> =>
    new Promise(resolve => {
      release = resolve
      cancelFrozen()
      post({ kind: 'ask' })
      const begin = () => {
        apply()
        stream.start(union().list)
      }
      if (channel) cancelGather = clock.timer(GATHER_MS, begin)
      else begin()
    })

  const stepDown = (): void => {
    cancelGather()
    release = null
    stream.close()
  }

  const queue = async (steal: boolean): Promise<void> => {
    queued?.abort()
    queued = new AbortController()
    const waiting = queued
    try {
      // The platform rejects `signal` together with `steal`. A stolen lock is granted at once, so there is nothing to abort.
      await locks?.request(name, steal ? { steal } : { signal: waiting.signal }, lead)
    } catch {
      // Aborted while waiting, or the lock was stolen: this tab is not the leader.
      if (queued !== waiting) return
      stepDown()
      if (closed) return
      follow()
      void queue(false)
    }
  }

  const onMessage = (message: Post): void => {
    const leading = release !== null
    if (message.kind === 'here' && leading) {
      others.set(message.tab, {
        wanted: new Map(message.wanted),
        list: message.list,
        lastSeenMs: clock.now(),
      })
      apply()
      post({ kind: 'state', state })
    } else if (message.kind === 'bye') others.delete(message.tab)
    else if (message.kind === 'retry' && leading) stream.retryNow()
    else if (!leading && message.kind === 'ask') announce()
    else if (!leading && message.kind === 'ping') {
      follow()
      announce()
    } else if (!leading && message.kind === 'frame') {
      follow()
      onFrame(message.frame)
    } else if (!leading && message.kind === 'state') {
      follow()
      onState(message.state)
    }
  }

  channel?.addEventListener('message', event => onMessage(event.data as Post))

  return {
    start(): void {
      if (!locks) {
        void lead()
        return
      }
      follow()
      void queue(false)
      announce()
    },
    /** Call when the subscriptions of this tab have changed. */
    updateSubscriptions(): void {
      if (release) apply()
      else announce()
    },
    retryNow(): void {
      if (release) stream.retryNow()
      else post({ kind: 'retry' })
    },
    isLeader: () => release !== null,
    close(): void {
      closed = true
      post({ kind: 'bye', tab })
      cancelFrozen()
      queued?.abort()
      const done = release
      stepDown()
      done?.()
      channel?.close()
    },
  }
}

export type TabLeader = ReturnType<typeof createTabLeader>
