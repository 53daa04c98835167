/** One streamed model call over HTTP in any wire format: request, server-sent events or a JSON document, timeouts, end detection. */
import { sentence, type Words } from '../../base/sentences.ts'
import { type Clock, toSeconds } from '../../base/clock.ts'
import { asArray, asCount, asObject, asString, isObject, type JsonObject } from '../../base/json.ts'
import { isLocalUrl } from '../../base/local-network.ts'
import { createParser } from 'eventsource-parser'
import type { Dispatcher } from 'undici'
import { errorFieldsIn } from '../error-fields.ts'
import { classify, ProviderFailure, statusOfErrorNames } from '../failure.ts'
import type { ProviderDelta, ProviderRequest } from '../types.ts'
import {
  type EncodedJson,
  encodeJson,
  errorMessageIn,
  hostOf,
  isPage,
  notAnApi,
  type PostResponse,
  postJson,
  redactKey,
  toNetworkFailure,
} from './http-post.ts'

type Finish = Extract<ProviderDelta, { type: 'finish' }>['reason']
type Usage = Extract<ProviderDelta, { type: 'usage' }>

/** Converts the events of one response to deltas; a JSON document counts as one event. */
export abstract class ResponseReader {
  /** Characters of the answer, and calls, so far. */
  protected chars = 0
  protected calls = 0
  protected usage: Usage | null = null
  protected finish: Finish | null = null

  /** Throws `ProviderFailure` for an error object inside the stream. */
  abstract read(event: unknown): ProviderDelta[]
  /** `finished`: the message has ended and only usage may follow. `complete`: nothing follows. */
  abstract progress(): 'streaming' | 'finished' | 'complete'
  /** True when no block or call is half received, for servers that do not send an end event. */
  abstract isIntact(): boolean

  /** Returns held-back text, usage and finish. */
  end(): ProviderDelta[] {
    const reason = this.finish ?? (this.calls > 0 ? 'tool_calls' : 'stop')
    return [...(this.usage ? [this.usage] : []), { type: 'finish', reason }]
  }
}

export type TextDelta = { type: 'text' | 'reasoning' | 'refusal'; text: string }

/** The delta of a text; none for an empty one. */
export const pieceOf = (type: TextDelta['type'], text: string): TextDelta[] =>
  text === '' ? [] : [{ type, text }]

/** xAI and Gemini count reasoning apart, in the total only. What is missing there may also be the cached tokens. */
export const withReasoning = (
  output: number,
  { total, input, cached }: { total: number; input: number; cached: number },
): number => {
  const apart = total - input - output
  return apart > 0 && apart !== cached ? output + apart : output
}

/** How long to wait for usage after the end of the message. */
const TRAIL_MS = 5_000
/** How long the server may take to close after the end; a clean close keeps the connection for the next call. */
const CLOSE_MS = 100
const MAX_PLAIN_BYTES = 64 * 1024 * 1024

/** From here on, a local server has probably been reading the prompt. */
const WORKING_MS = 20_000

/** Milliseconds without data; 0: no limit. Long prompts take longer before the first token, on a home GPU many minutes. */
const silenceOf = (bytes: number, isLocal: boolean): number => {
  if (isLocal) return 0
  return bytes > 400_000 ? 300_000 : bytes > 200_000 ? 240_000 : 180_000
}

/** Of a body that is kept for the next one. */
const MAX_SPARE_BYTES = 8 * 1024 * 1024

/**
 * The last body of a turn, for its next one to the same address: as garbage it would wait for V8 to collect everything.
 * A server that answers in full before it has read a request gets the rest of it with bytes of the next one. That is no other
 * conversation, and no other server, so it tells nothing that is not sent to it anyway.
 */
class SpareBodies {
  readonly #spare = new WeakMap<AbortSignal, { url: string; body: EncodedJson }>()

  /** Nobody else gets it until it is given back. */
  take(turn: AbortSignal, url: string): EncodedJson | undefined {
    const spare = this.#spare.get(turn)
    this.#spare.delete(turn)
    return spare?.url === url ? spare.body : undefined
  }

  /** Call when the body was answered in full. */
  giveBack(turn: AbortSignal, url: string, body: EncodedJson): void {
    if (body.memory.length <= MAX_SPARE_BYTES) this.#spare.set(turn, { url, body })
  }
}

const spareBodies = new SpareBodies()

type StreamedRequest = {
  url: string
  headers: Readonly<Record<string, string>>
  body: Readonly<Record<string, unknown>>
  request: ProviderRequest
  reader: ResponseReader
  /** Filled here: endpoints known to send an end event. There, a response without one is truncated. */
  terminating: Set<string>
  /** Called when the first delta is there; what it returns precedes it. */
  begin: () => ProviderDelta[]
  clock: Clock
  dispatcher: Dispatcher | undefined
}

/**
 * Resolves when the first delta is there, so that what fails before can be repeated. Throws `ProviderFailure`, or the
 * signal's reason when aborted; so does the stream. No failure contains the API key.
 */
export const streamRequest = async (
  request: StreamedRequest,
): Promise<AsyncGenerator<ProviderDelta>> => {
  const stream = deltasOf(request)
  await stream.next()
  return stream
}

const BEGUN: ProviderDelta = { type: 'text', text: '' }

/** Yields `BEGUN` before the first delta. */
async function* deltasOf({
  url,
  headers,
  body,
  request,
  reader,
  terminating,
  begin,
  clock,
  dispatcher,
}: StreamedRequest): AsyncGenerator<ProviderDelta> {
  const { endpoint, signal } = request
  const encoded = encodeJson(body, spareBodies.take(signal, url))
  const isLocal = isLocalUrl(endpoint.baseUrl)
  const silenceMs = endpoint.staleTimeoutMs ?? silenceOf(encoded.bytes.length, isLocal)
  const startedAt = clock.monotonic()
  let hasData = false
  const deadline = new Deadline(endpoint, hostOf(url), clock)
  let closed = false
  const progress = () => (closed ? 'complete' : reader.progress())
  let hasBegun = false
  const ready = (deltas: ProviderDelta[]): ProviderDelta[] => {
    if (hasBegun || deltas.length === 0) return deltas
    hasBegun = true
    return [BEGUN, ...begin(), ...deltas]
  }
  try {
    deadline.allowSilence(silenceMs)
    const answer = await postJson({
      url,
      headers,
      secret: endpoint.apiKey,
      body: encoded.bytes,
      signal: AbortSignal.any([signal, deadline.signal]),
      clock,
      dispatcher,
    })
    for await (const data of events(answer, url)) {
      hasData ||= data !== null
      if (data === '[DONE]') closed = true
      else if (progress() !== 'complete' && data !== null)
        for (const event of parseEvents(data, url)) yield* ready(reader.read(event))
      const now = progress()
      deadline.allowSilence(
        now === 'complete' ? CLOSE_MS : now === 'finished' ? TRAIL_MS : silenceMs,
      )
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    // After the end of the message it does not matter how the connection closes.
    if (progress() === 'streaming' || isProviderError(error)) {
      const reason = deadline.signal.aborted ? deadline.signal.reason : error
      const failure = failureOf(reason, url, endpoint.apiKey)
      const isWorking = isLocal && !hasData && clock.monotonic() - startedAt > WORKING_MS
      throw isWorking ? cutWhileWorking(failure) : failure
    }
  } finally {
    deadline.close()
  }
  spareBodies.giveBack(signal, url, encoded)
  const endpointKey = `${url} ${endpoint.model}`
  const isUnmarked = progress() === 'streaming'
  if (!isUnmarked) terminating.add(endpointKey)
  // Small servers close without an end event: accept that when no block is open. From an endpoint that usually sends one, it
  // means truncation; forgetting the endpoint lets a second such response pass.
  else if (!reader.isIntact() || terminating.delete(endpointKey))
    throw new ProviderFailure('network', sentence('turn.ended_early', { host: hostOf(url) }))
  for (const delta of ready(reader.end()))
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

export const hostname = (url: string): string => URL.parse(url)?.hostname ?? ''

/** Data of each event; null when bytes completed none, which still resets the timeout. Servers that ignore `stream` send one document. */
async function* events(
  { headers, body }: PostResponse,
  url: string,
): AsyncGenerator<string | null> {
  const contentType = String(headers['content-type'] ?? '')
  if (/ndjson/.test(contentType)) return yield* lines(body)
  const reader = new SseReader()
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
  let tail = ''
  for await (const bytes of body) {
    const ready = (tail + decoder.decode(bytes, { stream: true })).split('\n')
    tail = ready.pop() ?? ''
    if (tail.length > MAX_EVENT_CHARS)
      throw new ProviderFailure('error', sentence('turn.too_large'))
    if (ready.length === 0) yield null
    yield* ready
  }
  if (tail.trim() !== '') yield tail
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

/** The data of server-sent events. */
class SseReader {
  #ready: string[] = []
  readonly #decoder = new TextDecoder()
  readonly #parser = createParser({
    maxBufferSize: MAX_EVENT_CHARS,
    onEvent: ({ event, data }) => this.#ready.push(event === 'error' ? asError(data) : data),
    // Older llama.cpp writes `error: {…}`, a field that the format does not have.
    onError: ({ field, value = '' }) =>
      void (field === 'error' && this.#ready.push(asError(value))),
  })

  /** Returns the data of the events that these bytes complete. */
  feed(bytes: Uint8Array): string[] {
    return this.#read(this.#decoder.decode(bytes, { stream: true }))
  }

  /** Returns the data of a last event without its end. */
  end(): string[] {
    return this.#read(`${this.#decoder.decode()}\n\n`)
  }

  #read(text: string): string[] {
    this.#parser.feed(text)
    return this.#ready.splice(0)
  }
}

/** Ends a response that takes longer than `request_timeout_seconds`, or a time without data. */
class Deadline {
  readonly #timeout = new AbortController()
  readonly #host: string
  readonly #clock: Clock
  readonly #endTotal: () => void
  #endSilence = (): void => undefined

  constructor(
    { requestTimeoutMs: limitMs = 0, providerName, provider }: ProviderRequest['endpoint'],
    host: string,
    clock: Clock,
  ) {
    this.#host = host
    this.#clock = clock
    this.#endTotal = this.#after(
      limitMs,
      `The response from ${providerName ?? provider} took longer than ${Math.round(toSeconds(limitMs))} s (request_timeout_seconds).`,
    )
  }

  get signal(): AbortSignal {
    return this.#timeout.signal
  }

  /** 0: never. */
  #after(ms: number, message: Words): () => void {
    if (ms === 0) return () => undefined
    return this.#clock.timer(ms, () => this.#timeout.abort(new ProviderFailure('network', message)))
  }

  /** Restarts the time without data; 0 disables it. */
  allowSilence(ms: number): void {
    this.#endSilence()
    this.#endSilence = this.#after(ms, sentence('turn.stalled', { host: this.#host }))
  }

  close(): void {
    this.#endSilence()
    this.#endTotal()
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
