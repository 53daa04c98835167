/** One streamed model call over HTTP in any wire format: request, server-sent events or a JSON document, timeouts, end detection. */
import { sentence } from '../../base/sentences.ts'
import { type Clock, toSeconds } from '../../base/clock.ts'
import { asArray, asCount, asObject, asString, isObject, type JsonObject } from '../../base/json.ts'
import { isLocalUrl } from '../../base/local-network.ts'
import { createParser } from 'eventsource-parser'
import type { Dispatcher } from 'undici'
import { errorFieldsIn } from '../error-fields.ts'
import { classify, ProviderFailure, statusOfErrorNames } from '../failure.ts'
import type { ProviderDelta, ProviderRequest } from '../types.ts'
import { type BodyMemory, NO_SPARE } from './body-memory.ts'
import { encodeJson } from './encode-json.ts'
import {
  errorMessageIn,
  hostOf,
  isPage,
  notAnApi,
  type PostResponse,
  postJson,
  redactKey,
  toNetworkFailure,
} from './http-post.ts'

export type StreamOptions = {
  clock: Clock
  /** Milliseconds without data after which the stream is aborted; 0: never. There is no limit while data arrives. */
  staleMs?: (promptChars: number, isLocal: boolean) => number
  /** How long to wait for usage after the end of the message. */
  trailMs?: number
  /** Dispatcher of a proxy; undici's global one when absent. */
  dispatcher?: Dispatcher
  /** For the bodies of requests. Absent: each is garbage. */
  memory?: BodyMemory
}

/** Converts the events of one response to deltas; a JSON document counts as one event. */
export type ResponseReader = {
  /** Throws `ProviderFailure` for an error object inside the stream. */
  read: (event: unknown) => ProviderDelta[]
  /** `finished`: the message has ended and only usage may follow. `complete`: nothing follows. */
  progress: () => 'streaming' | 'finished' | 'complete'
  /** True when no block or call is half received, for servers that do not send an end event. */
  isIntact: () => boolean
  /** Returns held-back text, usage and finish. */
  end: () => ProviderDelta[]
}

export type StreamRequest = {
  url: string
  headers: Readonly<Record<string, string>>
  body: Readonly<Record<string, unknown>>
  request: ProviderRequest
  reader: ResponseReader
  /**
   * Filled here. Endpoints known to send an end event: there, a response without one is truncated. And those that have once
   * closed an HTTP/1.0 connection without one (`unframed …`): they do so each time.
   */
  terminating: Set<string>
}

const TRAIL_MS = 5_000
/** How long the server may take to close after the end; a clean close keeps the connection for the next call. */
const CLOSE_MS = 100
const MAX_PLAIN_BYTES = 64 * 1024 * 1024

/** From here on, a local server has probably been reading the prompt. */
const WORKING_MS = 20_000

/** Long prompts take longer before the first token. A local model has no limit: on a home GPU they take many minutes. */
const defaultStaleMs = (promptChars: number, isLocal: boolean): number => {
  if (isLocal) return 0
  return promptChars > 400_000 ? 300_000 : promptChars > 200_000 ? 240_000 : 180_000
}

/** Throws `ProviderFailure`, or the signal's reason when aborted. No failure contains the API key. */
export async function* streamRequest(
  { url, headers, body, request, reader, terminating }: StreamRequest,
  options: StreamOptions,
): AsyncGenerator<ProviderDelta> {
  const { endpoint } = request
  const { memory = NO_SPARE } = options
  const server = URL.canParse(url) ? new URL(url).origin : url
  const encoded = encodeJson(body, bytes => memory.take(bytes, server))
  const isLocal = isLocalUrl(endpoint.baseUrl)
  const staleMs = (options.staleMs ?? defaultStaleMs)(encoded.length, isLocal)
  const startedAt = options.clock.monotonic()
  let hasData = false
  const limit = createLimit(endpoint, options.clock)
  const signal = AbortSignal.any([request.signal, limit.signal])
  const deadline = createDeadline(signal, hostOf(url), options)
  let closed = false
  let isFramed = false
  const progress = () => (closed ? 'complete' : reader.progress())
  try {
    deadline.allowSilence(staleMs)
    const answer = await postJson({
      url,
      headers,
      secret: endpoint.apiKey,
      body: encoded,
      signal: deadline.signal,
      clock: options.clock,
      dispatcher: options.dispatcher,
    })
    isFramed = 'content-length' in answer.headers || 'transfer-encoding' in answer.headers
    for await (const data of events(answer, url)) {
      hasData ||= data !== null
      if (data === '[DONE]') closed = true
      else if (progress() !== 'complete' && data !== null)
        for (const event of parseEvents(data, url)) yield* reader.read(event)
      const now = progress()
      const trailMs = now === 'finished' ? (options.trailMs ?? TRAIL_MS) : staleMs
      deadline.allowSilence(now === 'complete' ? CLOSE_MS : trailMs)
    }
    memory.release(encoded, server)
  } catch (error) {
    if (signal.aborted) throw signal.reason
    // After the end of the message it does not matter how the connection closes.
    if (progress() === 'streaming' || isProviderError(error)) {
      const failure = failureOf(deadline.reason() ?? error, url, endpoint.apiKey)
      const isWorking = isLocal && !hasData && options.clock.monotonic() - startedAt > WORKING_MS
      throw isWorking ? cutWhileWorking(failure) : failure
    }
  } finally {
    deadline.close()
    limit.close()
  }
  const endpointKey = `${url} ${endpoint.model}`
  /** HTTP/1.0 has no framing: whether the server was done is seen from the second response that ends this way. */
  const mayEnd = (framed: boolean): boolean => {
    const key = `unframed ${endpointKey}`
    if (framed || terminating.has(key)) return true
    terminating.add(key)
    return false
  }
  if (progress() !== 'streaming') terminating.add(endpointKey)
  // Small servers close without an end event: accept that when the HTTP framing is complete and no block is open. From an
  // endpoint that usually sends one, it means truncation; forgetting the endpoint lets a second such response pass.
  else if (!reader.isIntact() || terminating.delete(endpointKey) || !mayEnd(isFramed))
    throw new ProviderFailure('network', sentence('turn.ended_early', { host: hostOf(url) }))
  const isUnmarked = progress() === 'streaming'
  for (const delta of reader.end())
    yield isUnmarked && delta.type === 'finish' ? { ...delta, reason: 'unmarked' } : delta
}

/** An error from the provider itself counts even after the end of the message. */
const isProviderError = (error: unknown) =>
  error instanceof ProviderFailure && error.type !== 'network'

/** The same prompt would be read from its start, and be cut again. A failure that the server itself explains stays. */
const cutWhileWorking = (failure: ProviderFailure): ProviderFailure => {
  const { type, message, status, isUnreachable } = failure
  const isGateway = status === undefined || [408, 502, 504, 524].includes(status)
  return type === 'network' && isGateway && !isUnreachable
    ? new ProviderFailure('network', message, {
        kind: 'cut_while_working',
        ...(status !== undefined && { status }),
      })
    : failure
}

const failureOf = (error: unknown, url: string, apiKey: string | null): ProviderFailure => {
  const failure = toNetworkFailure(error, url)
  failure.message = redactKey(failure.message, apiKey)
  return failure
}

export const hostname = (url: string): string => (URL.canParse(url) ? new URL(url).hostname : '')

/** Data of each event; null when bytes completed none, which still resets the timeout. Servers that ignore `stream` send one document. */
async function* events(
  { headers, body }: PostResponse,
  url: string,
): AsyncGenerator<string | null> {
  const contentType = String(headers['content-type'] ?? '')
  if (/ndjson/.test(contentType)) return yield* lines(body)
  const reader = createSseReader()
  const plain: Buffer[] = []
  let isPlain: boolean | null = null
  let head = ''
  let size = 0
  for await (const bytes of body) {
    // Some servers send a wrong content type; the first character is reliable.
    if (isPlain === null) {
      head += bytes.toString('utf8')
      if (isPage(head)) throw notAnApi(url, head)
      if (head.trim() !== '') isPlain = /^\s*\{/.test(head) || /\bjson\b/.test(contentType)
    }
    const ready = isPlain === false ? reader.feed(bytes) : []
    if (ready.length === 0) yield null
    yield* ready
    if (isPlain === false) continue
    plain.push(bytes)
    size += bytes.length
    if (size > MAX_PLAIN_BYTES) throw new ProviderFailure('error', sentence('turn.too_large'))
  }
  if (isPlain) yield* documentEvents(Buffer.concat(plain).toString('utf8'))
  else yield* reader.end()
}

/** Newline-delimited JSON, the framing of Ollama's own API: one event per line. */
async function* lines(body: AsyncIterable<Buffer>): AsyncGenerator<string | null> {
  const decoder = new TextDecoder()
  let held = ''
  for await (const bytes of body) {
    const ready = (held + decoder.decode(bytes, { stream: true })).split('\n')
    held = ready.pop() ?? ''
    if (held.length > MAX_EVENT_CHARS)
      throw new ProviderFailure('error', sentence('turn.too_large'))
    if (ready.length === 0) yield null
    yield* ready
  }
  if (held.trim() !== '') yield held
}

/** One document, or JSON lines that a proxy labels as one. */
function* documentEvents(text: string): Generator<string> {
  const all = text.trim().split('\n')
  if (all.length > 1 && all.every(line => parse(line) !== undefined)) return yield* all
  // Text that starts like JSON but does not parse was truncated.
  const isTruncated = text.trimStart().startsWith('{')
  if (parse(text) === undefined)
    throw new ProviderFailure(isTruncated ? 'network' : 'error', sentence('turn.not_json'))
  yield text
  yield '[DONE]'
}

/** Usually one event; several when a server omits the blank line between events. */
const parseEvents = (data: string, url: string): unknown[] => {
  const whole = parse(data)
  if (whole !== undefined) return [whole]
  return data.split('\n').flatMap(line => {
    const event = parse(line)
    if (event !== undefined) return [event]
    // Other text is noise. Broken JSON means a part of the response was lost.
    if (!line.trimStart().startsWith('{')) return []
    throw new ProviderFailure('network', sentence('turn.part_lost', { host: hostOf(url) }))
  })
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // The caller decides how to handle invalid JSON.
    return undefined
  }
}

/** One event must not grow beyond this; a whole response in one event is far smaller. */
const MAX_EVENT_CHARS = 16 * 1024 * 1024

/** The data of an error event, which may be plain text, or the error object without its frame. */
const asError = (data: string): string => {
  const object = parse(data)
  if (isObject(object) && object.error !== undefined) return data
  return JSON.stringify({ error: isObject(object) ? object : { message: data } })
}

/** `feed` returns the data of events completed by these bytes, `end` that of an unterminated last event. */
const createSseReader = () => {
  let ready: string[] = []
  const decoder = new TextDecoder()
  const parser = createParser({
    maxBufferSize: MAX_EVENT_CHARS,
    onEvent: ({ event, data }) => ready.push(event === 'error' ? asError(data) : data),
    // Older llama.cpp writes `error: {…}`, a field that the format does not have.
    onError: ({ field, value = '' }) => void (field === 'error' && ready.push(asError(value))),
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

/** Ends a response that takes longer than `request_timeout_seconds`. */
const createLimit = (
  { requestTimeoutMs: limitMs = 0, providerName, provider }: ProviderRequest['endpoint'],
  clock: Clock,
) => {
  const timeout = new AbortController()
  const end = (): void =>
    timeout.abort(
      new ProviderFailure(
        'network',
        `The response from ${providerName ?? provider} took longer than ${Math.round(toSeconds(limitMs))} s (request_timeout_seconds).`,
      ),
    )
  return {
    signal: timeout.signal,
    close: limitMs > 0 ? clock.timer(limitMs, end) : () => undefined,
  }
}

/** Ends a request with the turn's signal, or after a time without data. */
const createDeadline = (signal: AbortSignal, host: string, { clock }: StreamOptions) => {
  const timeout = new AbortController()
  let endSilence = (): void => undefined
  return {
    signal: AbortSignal.any([signal, timeout.signal]),
    /** Restarts the silence timeout; 0 disables it. */
    allowSilence(ms: number): void {
      endSilence()
      if (ms > 0)
        endSilence = clock.timer(ms, () =>
          timeout.abort(new ProviderFailure('network', sentence('turn.stalled', { host }))),
        )
    },
    /** The failure of the timeout that fired, if one did. */
    reason: (): unknown => (timeout.signal.aborted ? timeout.signal.reason : undefined),
    close: (): void => endSilence(),
  }
}

/** An error object inside a response with status 200, classified like an error response with a status. */
export const streamFailure = (error: unknown): ProviderFailure => {
  const { code, status } = asObject(error)
  const number = Number(code ?? status)
  const json = JSON.stringify(error)
  const fields = errorFieldsIn(error)
  const message = errorMessageIn(json)
  return classify({
    status:
      Number.isInteger(number) && number >= 400 && number < 600
        ? number
        : statusOfErrorNames(fields.codes),
    message: message === '' ? 'The provider reports an error.' : message,
    text: json,
    fields,
  })
}

/**
 * Throws the error in an event or document, in any of the shapes that servers use. Sources: the OpenAI and Anthropic APIs
 * (`error`), vLLM (`object: "error"`), FastAPI servers (`detail`), GraphQL-like gateways (`errors`), Groq (`x_groq`), z.ai
 * (`success: false`), DashScope (`code` and `message` alone), MiniMax (`base_resp`).
 */
export const throwErrorIn = (event: JsonObject): void => {
  const groq = asObject(event.x_groq).error
  if (event.error || groq) throw streamFailure(event.error || groq)
  if (event.type === 'error' || event.object === 'error') throw streamFailure(event)
  if (event.choices === undefined) throwUnframed(event)
  const { status_code: code, status_msg: message } = asObject(event.base_resp)
  if (asCount(code) > 0)
    throw classify({
      message: asString(message) || `Error ${code}`,
      fields: { codes: [`base_resp.${code}`], param: undefined },
    })
}

/** Errors that are only told from an answer by what they lack. */
const throwUnframed = (event: JsonObject): void => {
  const { type, code, message, msg, detail, errors, success } = event
  if (asString(detail) !== '') throw streamFailure(detail)
  const isNamed = type === undefined && code !== undefined && asString(message || msg) !== ''
  if (asArray(errors).length > 0 || success === false || isNamed) throw streamFailure(event)
}
