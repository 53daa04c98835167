/** The chat stream of the specification: one turn's log as SSE, `done` with the whole session rendered when it is written. */
import type { Session } from '../schema/session.ts'
import type { EventLog } from './event-log.ts'

const HEARTBEAT_MS = 15_000
const HEARTBEAT = ': heartbeat\n\n'

const frame = (pos: number, type: string, data: unknown): string =>
  `id: ${pos}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`

/** Replays after `after`, then follows; a heartbeat comment fills every 15 silent seconds. */
export async function* chatFrames(
  log: EventLog,
  after: number,
  signal: AbortSignal,
  session: () => Promise<Session>,
): AsyncGenerator<string> {
  const events = log.read(after, signal)
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
      const { pos, type, data } = result.value
      next = events.next()
      if (type === 'done' && !('ephemeral' in data)) {
        // Rendered for this reader alone: in the log it would be kept, and sent, once a turn and reader (storage.md, A5).
        const { usage } = data as { usage: unknown }
        yield frame(pos, type, { session: await session(), usage })
      } else {
        yield frame(pos, type, data)
      }
    }
  } finally {
    await events.return(undefined)
  }
}
