/** The chat stream: one turn's log as SSE; `done` contains the whole session, rendered when it is sent. */
import { FRAME_END, frameHead, withHeartbeats } from '../base/sse.ts'
import type { EventLog, LogFrame } from './event-log.ts'

/** The session as JSON text, in parts. */
type Render = () => Promise<readonly Buffer[]>

/**
 * The rendered session by log: concurrent readers share the bytes, which are released when the
 * last reader is done. In the log it would be stored once per turn and sent from there to each reader.
 */
const shared = new WeakMap<EventLog, { readers: number; parts: Promise<readonly Buffer[]> }>()

async function* doneFrame(log: EventLog, { pos, data }: LogFrame, render: Render) {
  const { usage } = JSON.parse(data.toString()) as { usage: unknown }
  const one = shared.get(log) ?? { readers: 0, parts: render() }
  shared.set(log, one)
  one.readers += 1
  try {
    // Complete before the first byte: a heartbeat between two parts would break the frame.
    const parts = await one.parts
    yield Buffer.from(`${frameHead('done', pos)}{"session":`)
    yield* parts
    yield Buffer.from(`,"usage":${JSON.stringify(usage)}}${FRAME_END}`)
  } finally {
    one.readers -= 1
    if (one.readers === 0 && shared.get(log) === one) shared.delete(log)
  }
}

async function* frames(log: EventLog, after: number, signal: AbortSignal, render: Render) {
  for await (const event of log.frames(after, signal)) {
    const isWhole = event.type === 'done' && !event.data.includes('"ephemeral"')
    if (isWhole) yield* doneFrame(log, event, render)
    else yield event.frame
  }
}

/** Replays the events after position `after`, then follows the turn until it ends or `signal` aborts. */
export const chatFrames = (log: EventLog, after: number, signal: AbortSignal, render: Render) =>
  withHeartbeats(frames(log, after, signal, render))
