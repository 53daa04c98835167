/** Speaks with any endpoint that offers `POST /chat/completions`, streamed where the server can. */
import type { Dispatcher } from 'undici'
import { ProviderFailure } from '../failure.ts'
import type { Provider, ProviderDelta, ProviderRequest } from '../types.ts'
import { createDeadline } from './deadline.ts'
import { hostname, type Quirk, quirkFor, toBody } from './openai-body.ts'
import { createChunkReader } from './openai-chunks.ts'
import { hideKey, hostOf, networkFailure, post } from './post.ts'
import { createSseReader } from './sse-reader.ts'

export type OpenAiOptions = {
  /** Silence after which a stream is given up; 0 never does. */
  staleMs?: (promptChars: number, loopback: boolean) => number
  overallMs?: number
  /** How long usage may follow the last word. */
  trailMs?: number
  /** Where a proxy is to be used; undici's own otherwise. */
  dispatcher?: Dispatcher
}

const OVERALL_MS = 1_800_000
const TRAIL_MS = 5_000
/** After [DONE] the server only has to close; a moment keeps the connection for the next call. */
const CLOSE_MS = 100
const MAX_QUIRKS = 4
const MAX_PLAIN_BYTES = 64 * 1024 * 1024

/** A long prompt takes longer before the first word; a model on this machine may take as long as it likes. */
const staleFor = (promptChars: number, loopback: boolean): number => {
  if (loopback) return 0
  return promptChars > 400_000 ? 300_000 : promptChars > 200_000 ? 240_000 : 180_000
}

export const createOpenAiChat = (options: OpenAiOptions = {}): Provider => {
  // What each endpoint objected to, so that it is asked once and not before every call.
  const learned = new Map<string, Set<Quirk>>()
  return async function* openAiChat(request) {
    const { endpoint } = request
    const place = `${endpoint.baseUrl} ${endpoint.model}`
    const quirks = learned.get(place) ?? new Set<Quirk>()
    for (;;) {
      try {
        yield* callOnce(request, quirks, options)
        return
      } catch (error) {
        const quirk =
          error instanceof ProviderFailure && quirks.size < MAX_QUIRKS
            ? quirkFor(error.status, error.message, quirks)
            : null
        if (quirk === null) throw error
        quirks.add(quirk)
        learned.set(place, quirks)
      }
    }
  }
}

async function* callOnce(
  request: ProviderRequest,
  quirks: ReadonlySet<Quirk>,
  options: OpenAiOptions,
): AsyncGenerator<ProviderDelta> {
  const { endpoint, signal } = request
  const url = `${endpoint.baseUrl}/chat/completions`
  const body = toBody(request, quirks)
  const promptChars = JSON.stringify(body.messages).length
  const staleMs = (options.staleMs ?? staleFor)(promptChars, isLoopback(endpoint.baseUrl))
  const deadline = createDeadline(signal, hostOf(url), options.overallMs ?? OVERALL_MS)
  const reader = createChunkReader()
  let complete = false
  try {
    deadline.allow(staleMs)
    const answer = await post({
      url,
      apiKey: endpoint.apiKey,
      body,
      signal: deadline.signal,
      dispatcher: options.dispatcher,
    })
    for await (const data of events(answer.body, String(answer.headers['content-type'] ?? ''))) {
      if (data === '[DONE]') complete = true
      else if (!complete && data !== null)
        for (const chunk of parseChunks(data)) yield* reader.read(chunk)
      deadline.allow(
        complete ? CLOSE_MS : reader.finished() ? (options.trailMs ?? TRAIL_MS) : staleMs,
      )
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    const whole = complete || reader.finished()
    // Everything was said; how the connection ended no longer matters.
    if (!whole || isRefused(error))
      throw failureOf(deadline.reason() ?? error, url, endpoint.apiKey)
  } finally {
    deadline.close()
  }
  if (!complete && !reader.finished())
    throw new ProviderFailure('network', `${hostOf(url)} ended the answer too early.`)
  yield* reader.end()
}

/** An error the provider spoke itself counts even after the last word. */
const isRefused = (error: unknown) => error instanceof ProviderFailure && error.type !== 'network'

const failureOf = (error: unknown, url: string, apiKey: string | null): ProviderFailure => {
  const failure = networkFailure(error, url)
  failure.message = hideKey(failure.message, apiKey)
  return failure
}

const isLoopback = (baseUrl: string): boolean =>
  /^(?:localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname(baseUrl))

/** The data of each event; null for bytes that completed none. A server that ignores `stream` answers one document. */
async function* events(
  body: AsyncIterable<Buffer>,
  contentType: string,
): AsyncGenerator<string | null> {
  const reader = createSseReader()
  const plain: Buffer[] = []
  let isPlain: boolean | null = null
  let size = 0
  for await (const bytes of body) {
    // The media type is not always true, the first character is.
    isPlain ??= /^\s*\{/.test(bytes.toString('latin1')) || /\bjson\b/.test(contentType)
    const ready = isPlain ? [] : reader.feed(bytes)
    if (ready.length === 0) yield null
    yield* ready
    if (!isPlain) continue
    plain.push(bytes)
    size += bytes.length
    if (size > MAX_PLAIN_BYTES) throw new ProviderFailure('error', 'The answer is too large.')
  }
  if (isPlain) yield* plainAnswer(Buffer.concat(plain).toString('utf8'))
  else yield* reader.end()
}

function* plainAnswer(text: string): Generator<string> {
  if (parse(text) === undefined)
    throw new ProviderFailure('error', 'The provider answered something that is not JSON.')
  yield text
  yield '[DONE]'
}

/** Usually one; servers that forget the blank line between events deliver several at once. */
const parseChunks = (data: string): unknown[] => {
  const whole = parse(data)
  if (whole !== undefined) return [whole]
  return data
    .split('\n')
    .map(parse)
    .filter(chunk => chunk !== undefined)
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // A broken chunk is skipped; a broken stream shows itself by its missing end.
    return undefined
  }
}
