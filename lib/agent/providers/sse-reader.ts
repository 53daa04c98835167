/** Reads the `data` of server-sent events out of bytes that may be cut anywhere. */
import { createParser } from 'eventsource-parser'

/** One event may not grow beyond this; a whole answer in one event is still far below. */
const MAX_EVENT_CHARS = 16 * 1024 * 1024

/** `feed` returns the data of the events that the bytes complete; `end` those of an unterminated last one. */
export const createSseReader = () => {
  let ready: string[] = []
  const decoder = new TextDecoder()
  const parser = createParser({
    maxBufferSize: MAX_EVENT_CHARS,
    onEvent: event => ready.push(event.data),
  })
  const drain = () => {
    const events = ready
    ready = []
    return events
  }
  return {
    feed(bytes: Uint8Array): string[] {
      parser.feed(decoder.decode(bytes, { stream: true }))
      return drain()
    },
    end(): string[] {
      parser.feed(`${decoder.decode()}\n\n`)
      return drain()
    },
  }
}
