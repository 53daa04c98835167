/** HTTP client for tests: sends paths and bodies unchanged, and reads responses and event streams. */
import {
  Agent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  request as httpRequest,
} from 'node:http'
import { createParser } from 'eventsource-parser'

// biome-ignore lint/suspicious/noExplicitAny: a test knows what it asked for, and asserts it
type Json = any

export type Answer = {
  status: number
  headers: IncomingHttpHeaders
  bytes: Buffer
  text: string
  /** The body as JSON; undefined when it is not JSON. */
  body: Json
}

export type RequestOptions = {
  headers?: Record<string, string>
  /** Strings and bytes are sent unchanged, anything else as JSON. */
  body?: unknown
  /** Closes an endless response after its headers. */
  headOnly?: boolean
  timeoutMs?: number
}

export type StreamEvent = { id: string; event: string; data: Record<string, Json> }

export type EventStream = AsyncIterableIterator<StreamEvent> & {
  /** Status and headers of the response. */
  opened: Promise<{ status: number; headers: IncomingHttpHeaders }>
  /** All events up to the first match; throws when the stream ends without one. */
  until(fits: (event: StreamEvent) => boolean): Promise<StreamEvent[]>
  close(): void
}

export type Client = ReturnType<typeof createClient>

const toBytes = (body: unknown): string | Buffer | undefined =>
  body === undefined || typeof body === 'string' || Buffer.isBuffer(body)
    ? body
    : JSON.stringify(body)

/** A body that keeps growing is never silent, so that the time limit of the socket does not end it. */
const BODY_MS = 120_000

const readAll = async (res: IncomingMessage, what: string): Promise<Buffer> => {
  const chunks: Buffer[] = []
  const timer = setTimeout(
    () => res.destroy(new Error(`${what}: the body is not complete after ${BODY_MS} ms`)),
    BODY_MS,
  )
  try {
    for await (const chunk of res) chunks.push(chunk)
  } finally {
    clearTimeout(timer)
  }
  return Buffer.concat(chunks)
}

const toJson = (text: string): Json => {
  try {
    return JSON.parse(text)
  } catch {
    // HTML, a file or an event stream.
    return undefined
  }
}

const readEvents = async function* (
  answered: Promise<IncomingMessage>,
): AsyncGenerator<StreamEvent, undefined> {
  const res = await answered
  const ready: StreamEvent[] = []
  const parser = createParser({
    onEvent: ({ id = '', event = 'message', data }) =>
      ready.push({ id, event, data: toJson(data) ?? {} }),
  })
  const decoder = new TextDecoder()
  try {
    for await (const chunk of res) {
      parser.feed(decoder.decode(chunk, { stream: true }))
      while (ready.length > 0) yield ready.shift() as StreamEvent
    }
  } catch {
    // Closed by us or by the server: both end the stream.
  }
}

/** `url` is called for each request, because a restarted service has another port. */
export const createClient = (url: () => string, defaults: Record<string, string> = {}) => {
  const agent = new Agent({ keepAlive: true })
  const open = (method: string, path: string, options: RequestOptions) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const { hostname, port } = new URL(url())
      const body = toBytes(options.body)
      const headers: Record<string, string> = { ...defaults, ...options.headers }
      if (body !== undefined) {
        headers['Content-Type'] ??= 'application/json'
        headers['Content-Length'] ??= String(Buffer.byteLength(body))
      }
      const req = httpRequest({ hostname, port, agent, method, path, headers }, resolve)
      const timeoutMs = options.timeoutMs ?? 120_000
      req.setTimeout(timeoutMs, () =>
        req.destroy(new Error(`${method} ${path.slice(0, 200)}: silent for ${timeoutMs} ms`)),
      )
      req.on('error', reject)
      req.end(body)
    })

  const request = async (
    method: string,
    path: string,
    options: RequestOptions = {},
  ): Promise<Answer> => {
    const res = await open(method, path, options)
    const isEndless = String(res.headers['content-type']).startsWith('text/event-stream')
    const what = `${method} ${path.slice(0, 200)}`
    const bytes = options.headOnly && isEndless ? Buffer.alloc(0) : await readAll(res, what)
    if (options.headOnly && isEndless) res.destroy()
    // Decoded once, when they are used: a measurement times the response alone.
    const decoded: { text?: string; body?: Json } = {}
    const answer: Answer = {
      status: res.statusCode ?? 0,
      headers: res.headers,
      bytes,
      get text() {
        decoded.text ??= bytes.toString()
        return decoded.text
      },
      get body() {
        if (!('body' in decoded)) decoded.body = toJson(answer.text)
        return decoded.body
      },
    }
    return answer
  }

  /** Sends the request at once; events are buffered until read. */
  const events = (path: string, options: RequestOptions = {}): EventStream => {
    const headers = { Accept: 'text/event-stream', ...options.headers }
    const answered = open('GET', path, { ...options, headers })
    const opened = answered.then(({ statusCode, headers: given }) => ({
      status: statusCode ?? 0,
      headers: given,
    }))
    // The event iterator throws the same error.
    opened.catch(() => undefined)
    const iterator = readEvents(answered)
    const until = async (fits: (event: StreamEvent) => boolean) => {
      const seen: StreamEvent[] = []
      for (;;) {
        const next = await iterator.next()
        if (next.done) throw new Error(`The stream ended after ${JSON.stringify(seen.at(-1))}`)
        seen.push(next.value)
        if (fits(next.value)) return seen
      }
    }
    const close = () => void answered.then(res => res.destroy()).catch(() => undefined)
    return Object.assign(iterator, { opened, until, close })
  }

  return {
    request,
    get: (path: string, options?: RequestOptions) => request('GET', path, options),
    post: (path: string, body: unknown = {}, options?: RequestOptions) =>
      request('POST', path, { ...options, body }),
    events,
    closeClient: () => agent.destroy(),
  }
}
