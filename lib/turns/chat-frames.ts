/** The chat stream of the specification: one turn's log as SSE, `done` with the whole session rendered when it is written. */
import type { EventLog, LogFrame } from './event-log.ts'

const HEARTBEAT_MS = 15_000
const HEARTBEAT = ': heartbeat\n\n'

/** The session as JSON text, in parts. */
type Render = () => Promise<readonly Buffer[]>

/**
 * What `done` says of the session, by its log: readers that come to it together get the same bytes, which go when the
 * last of them has them. In the log it would be kept, and sent, once a turn and reader (storage.md, A5).
 */
const shared = new WeakMap<EventLog, { readers: number; parts: Promise<readonly Buffer[]> }>()

async function* done(log: EventLog, { pos, data }: LogFrame, render: Render) {
  const { usage } = JSON.parse(data.toString()) as { usage: unknown }
  const one = shared.get(log) ?? { readers: 0, parts: render() }
  shared.set(log, one)
  one.readers += 1
  try {
    yield Buffer.from(`id: ${pos}\nevent: done\ndata: {"session":`)
    yield* await one.parts
    yield Buffer.from(`,"usage":${JSON.stringify(usage)}}\n\n`)
  } finally {
    one.readers -= 1
    if (one.readers === 0 && shared.get(log) === one) shared.delete(log)
  }
}

/** Replays after `after`, then follows; a heartbeat comment fills every 15 silent seconds. */
export async function* chatFrames(
  log: EventLog,
  after: number,
  signal: AbortSignal,
  render: Render,
): AsyncGenerator<string | Buffer> {
  const events = log.frames(after, signal)
  let next = events.next()
  try {
    while (true) {
      let timer: NodeJS.Timeout | undefined
      const silent = new Promise<'silent'>(resolve => {
        timer = setTimeout(() => resolve('silent'), HEARTBEAT_MS)
      })
      const result = await Promise.race([next, silent])
      clearTimeout(timer)
      if (result === 'silent') {
        yield HEARTBEAT
        continue
      }
      if (result.done) return
      const event = result.value
      next = events.next()
      const isWhole = event.type === 'done' && !event.data.includes('"ephemeral"')
      if (isWhole) yield* done(log, event, render)
      else yield event.frame
    }
  } finally {
    await events.return(undefined)
  }
}
