/** Newline-delimited JSON-RPC over a child's pipes; tolerates other output on stdout. */
import { StringDecoder } from 'node:string_decoder'
import type { Readable } from 'node:stream'
import { ReadableStream } from 'node:stream/web'
import type { AnyMessage, Stream } from '@agentclientprotocol/sdk'
import { type JsonObject, isObject } from '../../base/json.ts'
import type { AgentProcess } from './agent-process.ts'

/** Longer lines are skipped, to bound memory. */
const MAX_LINE_CHARS = 32 * 1024 * 1024
const MAX_LOG_CHARS = 300

const parse = (line: string): JsonObject | null => {
  try {
    const value: unknown = JSON.parse(line)
    return isObject(value) ? value : null
  } catch {
    // A banner, a log line, a progress bar: the caller logs it.
    return null
  }
}

/** The SDK's stream. Updates go to `onUpdate` instead, and responses without a pending request are dropped. */
export const ndjsonStream = (
  { stdin, stdout }: AgentProcess,
  /** Called for each `session/update`, in order, before any later message is handled. */
  onUpdate: (params: unknown) => void,
  /** Called with lines that aren't messages, shortened. */
  log: (line: string) => void,
): Stream => {
  /** Ids of our requests without a response. */
  const pendingIds = new Set<unknown>()

  const dispatch = (line: string): AnyMessage | null => {
    const message = parse(line)
    if (!message) {
      log(line.slice(0, MAX_LOG_CHARS))
      return null
    }
    const { method, id } = message
    if (method === 'session/update' && id === undefined) {
      onUpdate(message.params)
      return null
    }
    if (typeof method === 'string') return { ...message, jsonrpc: '2.0' } as AnyMessage
    if (pendingIds.delete(id)) return { ...message, jsonrpc: '2.0' } as AnyMessage
    log(line.slice(0, MAX_LOG_CHARS))
    return null
  }

  const readable = ReadableStream.from(messagesOf(stdout, log, dispatch))
  const writable = new WritableStream<AnyMessage>({
    write(message) {
      if ('method' in message && 'id' in message) pendingIds.add(message.id)
      return new Promise<void>((resolve, reject) =>
        stdin.write(`${JSON.stringify(message)}\n`, error => (error ? reject(error) : resolve())),
      )
    },
  })
  return { readable: readable as Stream['readable'], writable }
}

/** Pull-based, so that a flooding agent is slowed by backpressure. */
async function* messagesOf(
  stdout: Readable,
  log: (line: string) => void,
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
