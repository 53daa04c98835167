/** Reads and writes the protocol over a child's pipes: one JSON object a line, and whatever else it prints is no reason to break off. */
import { StringDecoder } from 'node:string_decoder'
import type { Readable, Writable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk'
import { type JsonObject, isObject } from '../../base/json.ts'

export type NdjsonStreamOptions = {
  stdin: Writable
  stdout: Readable
  /** News of a session, in the order in which they were written and before anything that was written after them. */
  onUpdate: (params: unknown) => void
  /** Anything at all has been said. */
  onHeard: () => void
  /** A line that is no message, cut for the log. */
  log: (line: string) => void
}

/** A longer line is skipped: memory is bounded whatever the agent prints. */
const MAX_LINE_CHARS = 32 * 1024 * 1024
const MAX_LOG_CHARS = 300

const parse = (line: string): JsonObject | null => {
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? value : null
  } catch {
    // A greeting, a log line, a progress bar: the caller writes it down.
    return null
  }
}

/** What the connection may see: news are handed over here, answers nobody asked for go no further. */
export const ndjsonStream = (options: NdjsonStreamOptions): Stream => {
  /** Requests of ours that have no answer yet. */
  const pendingIds = new Set<unknown>()

  const dispatch = (line: string): AnyMessage | null => {
    const message = parse(line)
    if (!message) {
      options.log(line.slice(0, MAX_LOG_CHARS))
      return null
    }
    options.onHeard()
    const { method, id } = message
    if (method === 'session/update' && id === undefined) {
      options.onUpdate(message.params)
      return null
    }
    if (typeof method === 'string') return { ...message, jsonrpc: '2.0' } as AnyMessage
    if (pendingIds.delete(id)) return { ...message, jsonrpc: '2.0' } as AnyMessage
    options.log(line.slice(0, MAX_LOG_CHARS))
    return null
  }

  const readable = ReadableStream.from(messagesOf(options, dispatch))
  const writable = new WritableStream<AnyMessage>({
    write(message) {
      if ('method' in message && 'id' in message) pendingIds.add(message.id)
      return new Promise<void>((resolve, reject) =>
        options.stdin.write(`${JSON.stringify(message)}\n`, error =>
          error ? reject(error) : resolve(),
        ),
      )
    },
  })
  return { readable: readable as Stream['readable'], writable }
}

/** Pulled, not pushed: an agent that floods waits until it is heard. */
async function* messagesOf(
  { stdout, log }: NdjsonStreamOptions,
  dispatch: (line: string) => AnyMessage | null,
): AsyncGenerator<AnyMessage> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  let isSkipping = false
  for await (const chunk of stdout) {
    const lines = (rest + decoder.write(chunk as Buffer)).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (isSkipping) {
        isSkipping = false
        continue
      }
      const message = line.trim() === '' ? null : dispatch(line)
      if (message) yield message
    }
    if (isSkipping) rest = ''
    else if (rest.length > MAX_LINE_CHARS) {
      log(`a line of more than ${MAX_LINE_CHARS} characters was skipped`)
      rest = ''
      isSkipping = true
    }
  }
}
