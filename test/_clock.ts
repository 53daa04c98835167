/** A clock that a test turns by hand. */
import { setImmediate as turn } from 'node:timers/promises'
import { type Clock, delayWith } from '../lib/base/clock.ts'

type Timer = { at: number; run: () => void }

export type TestClock = Clock & {
  /** Moves forward; timers that become due run in their order, each at its own time. What they start has run when this resolves. */
  advance(ms: number): Promise<void>
  /** Sets the clock as a person does: `now` jumps, timers and `monotonic` do not. */
  set(now: number): void
  /** Milliseconds until each timer that waits, soonest first. */
  waiting(): number[]
}

/** Rounds of the event loop that continuations get before the clock moves on. */
const ROUNDS = 5

const settle = async (): Promise<void> => {
  for (let round = 0; round < ROUNDS; round++) await turn()
}

/** Shows `start`, milliseconds since 1970, until it is moved. */
export const createTestClock = (start = Date.UTC(2026, 0, 1)): TestClock => {
  const timers = new Set<Timer>()
  let passed = 0
  let offset = start
  const soonest = () => [...timers].toSorted((a, b) => a.at - b.at)
  const timer: Clock['timer'] = (ms, run) => {
    const entry = { at: passed + Math.max(0, ms), run }
    timers.add(entry)
    return () => void timers.delete(entry)
  }
  const clock: TestClock = {
    now: () => offset + passed,
    monotonic: () => passed,
    timer,
    delay: delayWith(timer),
    async advance(ms) {
      const end = passed + ms
      await settle()
      for (let [next] = soonest(); next && next.at <= end; [next] = soonest()) {
        passed = next.at
        timers.delete(next)
        next.run()
        await settle()
      }
      passed = end
      await settle()
    },
    set(now) {
      offset = now - passed
    },
    waiting: () => soonest().map(({ at }) => at - passed),
  }
  return clock
}
