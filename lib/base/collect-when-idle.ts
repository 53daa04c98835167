/**
 * Returns memory to the system when a thread has nothing to do. V8 collects garbage when something is allocated, so what a start, a
 * search or a long turn left would stay until the next work, which may be tomorrow.
 */
import { performance } from 'node:perf_hooks'
import { runInNewContext } from 'node:vm'

const LOOK_MS = 5_000
/** Share of the time in which the event loop was busy. */
const IDLE_BELOW = 0.05
/** A collection of everything takes some 50 ms for a heap of 15 MB, so it must be worth it. */
const GROWN_BYTES = 4 * 1024 * 1024
const GROWN_SHARE = 0.2
/** After so many looks, once more: what was read is kept for some seconds, and was no garbage yet. */
const AGAIN_LOOKS = 6

/** Collects what nothing refers to, several times, until nothing more is found. Nothing happens without `setV8Flags`. */
const collectAll = (): void => {
  runInNewContext("globalThis.gc?.({ type: 'major', execution: 'sync', flavor: 'last-resort' })")
}

const repeat = (run: () => void, ms: number): (() => void) => {
  const timer = setInterval(run, ms)
  timer.unref()
  return () => clearInterval(timer)
}

/** Not what objects use: a heap holds more than that until it is collected. */
const heldBytes = (): number => {
  const { heapTotal, external } = process.memoryUsage()
  return heapTotal + external
}

/** Measures this thread from one call of `share` to the next. */
class EventLoopUse {
  #last = performance.eventLoopUtilization()

  share(): number {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, this.#last)
    this.#last = now
    return utilization
  }
}

/** For this thread, until the returned function is called. */
export const collectWhenIdle = ({
  collect = collectAll,
  heapUsed = heldBytes,
  busy,
  every = repeat,
}: {
  collect?: () => void
  /** Bytes that this thread holds for objects. */
  heapUsed?: () => number
  /** Share of the time since the last call in which the event loop of this thread was busy. */
  busy?: () => number
  /** Calls `run` every so many milliseconds until the returned function is called. */
  every?: (run: () => void, ms: number) => () => void
} = {}): (() => void) => {
  const use = new EventLoopUse()
  let last = 0
  let looksLeft = 0
  return every(() => {
    const isIdle = (busy?.() ?? use.share()) < IDLE_BELOW
    const now = heapUsed()
    // V8 collects by itself as well.
    last = Math.min(last, now)
    const hasGrown = now >= last + Math.max(GROWN_BYTES, GROWN_SHARE * last)
    const isAgain = looksLeft === 1
    if (looksLeft > 0 && (isIdle || looksLeft > 1)) looksLeft -= 1
    if (!isIdle || !(hasGrown || isAgain)) return
    collect()
    last = heapUsed()
    if (hasGrown) looksLeft = AGAIN_LOOKS
  }, LOOK_MS)
}
