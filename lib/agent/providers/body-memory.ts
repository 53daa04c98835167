/**
 * Memory of request bodies that were answered, for the next ones to the same server. As garbage, it would stay until V8 collects
 * everything, at some 60 MB. A server that answers in full before it has read a request would get the rest of it with bytes of
 * its next one: therefore no memory goes from one server to another.
 */

import type { Clock } from '../../base/clock.ts'

/** Sizes are rounded up to this: the memory of one body then fits the next one, which is a little longer. */
const STEP_BYTES = 1024 * 1024
const MAX_SPARE = 2
const MAX_SPARE_BYTES = 8 * STEP_BYTES
const SPARE_MS = 10_000

export type BodyMemory = {
  /** At least this many bytes, with anything in them. `server`: the origin they are sent to. */
  take(bytes: number, server: string): Buffer
  /** The next body for this server may use the memory of this one. Call when it was answered in full. */
  release(body: Buffer, server: string): void
}

const allocate = (bytes: number): Buffer =>
  Buffer.allocUnsafeSlow(Math.ceil(bytes / STEP_BYTES) * STEP_BYTES)

export const NO_SPARE: BodyMemory = { take: allocate, release() {} }

export const createBodyMemory = (clock: Pick<Clock, 'timer'>): BodyMemory => {
  const spare: { server: string; memory: Buffer }[] = []
  let cancel = (): void => undefined
  return {
    take(bytes, server) {
      const at = spare.findIndex(each => each.server === server && each.memory.length >= bytes)
      const [found] = at < 0 ? [] : spare.splice(at, 1)
      if (found) return found.memory
      // The conversation has outgrown them, or goes to another server now.
      spare.length = 0
      return allocate(bytes)
    },
    release({ buffer }, server) {
      if (spare.length >= MAX_SPARE || buffer.byteLength > MAX_SPARE_BYTES) return
      spare.push({ server, memory: Buffer.from(buffer) })
      cancel()
      cancel = clock.timer(SPARE_MS, () => {
        spare.length = 0
      })
    },
  }
}
