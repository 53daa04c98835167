/** A program and everything it has started, as one: ended together, read no faster than others can bear. */
import type { ChildProcess } from 'node:child_process'
import type { Readable } from 'node:stream'

/** What prints without end is slowed down to this, so that others are served. */
const BYTES_PER_SLICE = 1024 * 1024
const SLICE_MS = 50

/** Of a child that was started `detached`. */
export const killGroup = (child: ChildProcess, signal: NodeJS.Signals): void => {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, signal)
  } catch {
    // The whole group has ended already.
  }
}

export const readSlowly = (stream: Readable | null, write: (bytes: Buffer) => void): void => {
  let slice = 0
  stream?.on('data', (bytes: Buffer) => {
    write(bytes)
    slice += bytes.length
    if (slice < BYTES_PER_SLICE) return
    slice = 0
    stream.pause()
    setTimeout(() => stream.resume(), SLICE_MS)
  })
}
