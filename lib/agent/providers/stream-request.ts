/** One call of a provider, whatever it speaks: asked over HTTP, answered in events, ended by whoever ends it first. */
import type { Dispatcher } from 'undici'
import { ProviderFailure } from '../failure.ts'
import type { ProviderDelta, ProviderRequest } from '../types.ts'
import { createDeadline } from './deadline.ts'
import { redactKey, hostOf, toNetworkFailure, postJson } from './http-post.ts'
import { createSseReader } from './sse-reader.ts'

export type StreamOptions = {
  /** Silence after which a stream is given up; 0 never does. */
  staleMs?: (promptChars: number, loopback: boolean) => number
  overallMs?: number
  /** How long usage may follow the last word. */
  trailMs?: number
  /** Where a proxy is to be used; undici's own otherwise. */
  dispatcher?: Dispatcher
}

/** Makes deltas of one answer's events; a whole document counts as an event. */
export type ResponseReader = {
  /** Throws `ProviderFailure` for an error that is spoken inside the answer. */
  read: (event: unknown) => ProviderDelta[]
  /** `spoken`: the last word was said, only figures may follow. `complete`: nothing follows. */
  progress: () => 'speaking' | 'spoken' | 'complete'
  /** Everything that was begun is whole, although nobody said that it is the end. */
  isIntact: () => boolean
  /** What was held back, then usage and finish. */
  end: () => ProviderDelta[]
}

/** Endpoints that were seen to say when an answer is over: there, an answer without its end is a broken one. */
export type TerminatingEndpoints = Set<string>

export type StreamRequest = {
  url: string
  headers: Readonly<Record<string, string>>
  body: unknown
  request: ProviderRequest
  reader: ResponseReader
  terminating: TerminatingEndpoints
}

const OVERALL_MS = 1_800_000
const TRAIL_MS = 5_000
/** After the end the server only has to close; a moment keeps the connection for the next call. */
const CLOSE_MS = 100
const MAX_PLAIN_BYTES = 64 * 1024 * 1024

/** A long prompt takes longer before the first word; a model on this machine may take as long as it likes. */
const staleFor = (promptChars: number, loopback: boolean): number => {
  if (loopback) return 0
  return promptChars > 400_000 ? 300_000 : promptChars > 200_000 ? 240_000 : 180_000
}

/** Throws `ProviderFailure`, or the signal's reason when aborted; the key stands in no failure. */
export async function* streamRequest(
  { url, headers, body, request, reader, terminating }: StreamRequest,
  options: StreamOptions = {},
): AsyncGenerator<ProviderDelta> {
  const { endpoint, signal } = request
  const written = JSON.stringify(body)
  const staleMs = (options.staleMs ?? staleFor)(written.length, isLoopback(endpoint.baseUrl))
  const deadline = createDeadline(signal, hostOf(url), options.overallMs ?? OVERALL_MS)
  let closed = false
  let isFramed = false
  const progress = () => (closed ? 'complete' : reader.progress())
  try {
    deadline.allow(staleMs)
    const answer = await postJson({
      url,
      headers,
      secret: endpoint.apiKey,
      body: written,
      signal: deadline.signal,
      dispatcher: options.dispatcher,
    })
    isFramed = 'content-length' in answer.headers || 'transfer-encoding' in answer.headers
    for await (const data of events(answer.body, String(answer.headers['content-type'] ?? ''))) {
      if (data === '[DONE]') closed = true
      else if (progress() !== 'complete' && data !== null)
        for (const event of parseEvents(data, url)) yield* reader.read(event)
      const now = progress()
      const trailMs = now === 'spoken' ? (options.trailMs ?? TRAIL_MS) : staleMs
      deadline.allow(now === 'complete' ? CLOSE_MS : trailMs)
    }
  } catch (error) {
    if (signal.aborted) throw signal.reason
    // Everything was said; how the connection ended no longer matters.
    if (progress() === 'speaking' || isRefused(error))
      throw failureOf(deadline.reason() ?? error, url, endpoint.apiKey)
  } finally {
    deadline.close()
  }
  const place = `${url} ${endpoint.model}`
  if (progress() !== 'speaking') terminating.add(place)
  // Small servers just stop. Their connection ended in order and nothing is open, so that was all; who usually says when
  // it is over was cut off, unless it happens twice.
  else if (!isFramed || !reader.isIntact() || terminating.delete(place))
    throw new ProviderFailure('network', `${hostOf(url)} ended the answer too early.`)
  yield* reader.end()
}

/** An error the provider spoke itself counts even after the last word. */
const isRefused = (error: unknown) => error instanceof ProviderFailure && error.type !== 'network'

const failureOf = (error: unknown, url: string, apiKey: string | null): ProviderFailure => {
  const failure = toNetworkFailure(error, url)
  failure.message = redactKey(failure.message, apiKey)
  return failure
}

export const hostname = (url: string): string => (URL.canParse(url) ? new URL(url).hostname : '')

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
  // What begins like an answer and cannot be read was cut.
  const isCut = text.trimStart().startsWith('{')
  if (parse(text) === undefined)
    throw new ProviderFailure(
      isCut ? 'network' : 'error',
      'The provider answered something that is not JSON.',
    )
  yield text
  yield '[DONE]'
}

/** Usually one; servers that forget the blank line between events deliver several at once. */
const parseEvents = (data: string, url: string): unknown[] => {
  const whole = parse(data)
  if (whole !== undefined) return [whole]
  return data.split('\n').flatMap(line => {
    const event = parse(line)
    if (event !== undefined) return [event]
    // Words that are no JSON are noise on the line; half an event is a part of the answer that is lost.
    if (!line.trimStart().startsWith('{')) return []
    throw new ProviderFailure('network', `A part of the answer of ${hostOf(url)} was lost.`)
  })
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // The caller decides what that means.
    return undefined
  }
}
