/** HTTP POST to a provider. Errors become `ProviderFailure` and never contain the API key. */
import { type Sentence, sentence } from '../../base/sentences.ts'
import { pipeline, type Transform } from 'node:stream'
import { constants, createBrotliDecompress, createGunzip, createInflate } from 'node:zlib'
import type { Clock } from '../../base/clock.ts'
import type { Dispatcher } from 'undici'
import { oneLine } from '../../base/shorten.ts'
import { isObject, isSameJson } from '../../base/json.ts'
import { messageOf } from '../../errors.ts'
import { errorFieldsIn } from '../error-fields.ts'
import { classify, ProviderFailure } from '../failure.ts'
import { rateLimitReset, resetInBody, retryAfterInHeaders } from '../retry-after.ts'

const MAX_ERROR_BYTES = 64 * 1024
const MAX_MESSAGE_CHARS = 600

type ProviderCall = {
  url: string
  /** Additional headers, including the one with the key. */
  headers: Readonly<Record<string, string>>
  /** The API key, to be redacted from error messages. */
  secret: string | null
  body: Buffer
  signal: AbortSignal
  clock: Clock
  dispatcher?: Dispatcher | undefined
}

export type PostResponse = {
  headers: Dispatcher.ResponseData['headers']
  body: AsyncIterable<Buffer>
}

/**
 * Resolves with headers and body for a 2xx status, throws `ProviderFailure` for any other. Redirects are not followed,
 * because the key would be sent to an address that is not configured.
 */
export const postJson = async (call: ProviderCall): Promise<PostResponse> => {
  // Imported with the first call: it would cost every start 0.1 s and 15 MB.
  const { request } = await import('undici')
  const answer = await request(call.url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'text/event-stream, application/json',
      'user-agent': 'agent-webui',
      ...call.headers,
    },
    body: call.body,
    signal: call.signal,
    // Timeouts are handled by the caller's signal.
    headersTimeout: 0,
    bodyTimeout: 0,
    ...(call.dispatcher && { dispatcher: call.dispatcher }),
  })
  const body = decoded(answer)
  if (answer.statusCode >= 200 && answer.statusCode < 300) return { headers: answer.headers, body }
  if (answer.statusCode >= 300 && answer.statusCode < 400) {
    answer.body.on('error', ignore).destroy()
    throw new ProviderFailure(
      'wrong_address',
      sentence('turn.redirected', {
        host: hostOf(call.url),
        target: hostOf(String(answer.headers.location ?? ''), call.url),
      }),
      { status: answer.statusCode },
    )
  }
  // The status says enough when the body cannot be read.
  const text = await readLimited(body).catch(() => '')
  throw toFailure(answer.statusCode, text, answer.headers, call)
}

/** Some proxies compress although it was not asked for. Each chunk is decoded as it arrives. */
const decoded = ({ headers, body }: Dispatcher.ResponseData): AsyncIterable<Buffer> => {
  const decoders: Readonly<Record<string, (() => Transform) | undefined>> = {
    gzip: () => createGunzip({ flush: constants.Z_SYNC_FLUSH }),
    // The same (RFC 9110).
    'x-gzip': () => createGunzip({ flush: constants.Z_SYNC_FLUSH }),
    deflate: () => createInflate({ flush: constants.Z_SYNC_FLUSH }),
    br: () => createBrotliDecompress({ flush: constants.BROTLI_OPERATION_FLUSH }),
  }
  const create = decoders[String(headers['content-encoding'] ?? '').toLowerCase()]
  // `pipeline` passes errors on to the reader, and closes the connection when the reader stops.
  return create ? pipeline(body, create(), ignore) : body
}

/** A web page with status 200: usually the address lacks a path such as `/v1`, or a login page is in between. */
export const notAnApi = (url: string, page: string): ProviderFailure => {
  const title = errorMessageIn(page)
  return new ProviderFailure(
    'wrong_address',
    sentence('turn.web_page', { host: hostOf(url), title: title === '' ? '' : ` (“${title}”)` }),
  )
}

/** Errors of a discarded body do not matter. */
const ignore = () => undefined

const toFailure = (
  status: number,
  text: string,
  headers: Dispatcher.ResponseData['headers'],
  { secret, clock }: ProviderCall,
): ProviderFailure => {
  const message = redactKey(errorMessageIn(text), secret)
  const { codes, param } = errorFieldsIn(text)
  // Bedrock names the error in a header: `ThrottlingException:http://…`.
  const [amazon] = String(headers['x-amzn-errortype'] ?? '').split(':')
  const now = clock.now()
  return classify({
    status,
    message: message === '' ? `The provider responded with status ${status}.` : message,
    text: `${message}\n${text.slice(0, 4_000)}`,
    fields: { codes: amazon ? [amazon, ...codes] : codes, param },
    isBodyEmpty: text.trim() === '',
    isPage: isPage(text),
    isChallenge: headers['cf-mitigated'] === 'challenge',
    retryAfterMs: retryAfterInHeaders(headers, now),
    resetMs:
      resetInBody(text, now) ??
      (status === 429 || status === 503 ? rateLimitReset(headers, now) : undefined),
  })
}

const readLimited = async (body: AsyncIterable<Buffer>): Promise<string> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    size += chunk.length
    if (size > MAX_ERROR_BYTES) break
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** JSON that says nothing. */
const NOTHING = /^\s*(?:null|true|false|\d+|""|\{\s*\}|\[\s*\])\s*$/

/** The error message in a response body of any shape; for HTML, the page title. */
export const errorMessageIn = (text: string): string => {
  const sentence = findMessage(parse(text)) ?? pageTitle(text) ?? text.replace(NOTHING, '')
  return oneLine(sentence).slice(0, MAX_MESSAGE_CHARS)
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // Not JSON: plain text or HTML.
    return null
  }
}

/** Neither JSON nor server-sent events begin like this. A byte order mark counts as white space. */
export const isPage = (text: string): boolean => /^\s*</.test(text)

const pageTitle = (text: string): string | null =>
  isPage(text) ? (/<title[^>]*>([^<]*)/i.exec(text)?.[1] ?? '') : null

const findMessage = (value: unknown): string | null => {
  // Ollama passes an error of its runner on as JSON in a string.
  if (typeof value === 'string')
    return (value.startsWith('{') && findMessage(parse(value))) || value
  if (Array.isArray(value)) return findMessage(value[0])
  if (!isObject(value)) return null
  const { error, errors, message, detail, msg, loc, metadata } = value
  // Schema validators (FastAPI) put the location beside the message.
  if (typeof msg === 'string' && Array.isArray(loc)) return `${loc.join('.')}: ${msg}`
  const sentence =
    findMessage(error) ??
    findMessage(errors) ??
    findMessage(message) ??
    findMessage(detail) ??
    findMessage(msg)
  // OpenRouter puts the upstream provider's message into metadata.
  const raw = (metadata as { raw?: unknown } | null | undefined)?.raw
  return sentence !== null && typeof raw === 'string'
    ? `${sentence}: ${errorMessageIn(raw)}`
    : sentence
}

/** Appends to the path of a URL and keeps its query, which Azure deployments need. */
export const appendPath = (baseUrl: string, path: string): string => {
  const [place = '', query] = baseUrl.split('?', 2)
  return `${place.replace(/\/+$/, '')}${path}${query ? `?${query}` : ''}`
}

/** Azure expects API keys in `api-key`; sign-in tokens (JWT) are sent as bearer tokens there, too. */
export const authHeaders = ({
  baseUrl,
  apiKey,
}: {
  baseUrl: string
  apiKey: string | null
}): Record<string, string> => {
  const isAzure =
    /\.azure\.com$/.test(URL.parse(baseUrl)?.hostname ?? '') || /[?&]api-version=/.test(baseUrl)
  return isAzure && apiKey && !apiKey.startsWith('eyJ')
    ? { 'api-key': apiKey }
    : bearerHeader(apiKey)
}

/** The authorization header most providers expect. */
export const bearerHeader = (apiKey: string | null): Record<string, string> =>
  apiKey ? { authorization: `Bearer ${apiKey}` } : {}

/** Shorter ones are words, as local servers accept any: `mock` would be hidden in every other sentence. */
const MIN_KEY_CHARS = 8
/** Written where a server needs no key. */
const PLACEHOLDER =
  /^(?:sk-)?(?:no|not|dummy|fake|test|mock|your|my|any|none|empty|local|lm|ollama|placeholder|unused)(?:[-_ ]?(?:api|key|token|needed|required|used|studio|thing|host))*$/i

/** Redacts keys: some providers quote the key in error messages. */
export const redactKey = (text: string, apiKey: string | null): string => {
  const isSecret = apiKey && apiKey.length >= MIN_KEY_CHARS && !PLACEHOLDER.test(apiKey)
  const hidden = isSecret ? text.split(apiKey).join('***') : text
  return hidden.replace(/\b(sk[-_]|pk[-_]|rk[-_]|xai-|gsk_|hf_|AIza)[\w\-*.]{12,}/g, '$1***')
}

export const hostOf = (url: string, base?: string): string =>
  URL.parse(url, base)?.host ?? 'another address'

/** Certificate errors are permanent; other TLS errors may be temporary. */
const NOT_TRUSTED = /CERT|SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)/
/** A server without TLS at an https:// address. */
const NOT_TLS = /WRONG_VERSION|PACKET_LENGTH_TOO_LONG|UNKNOWN_PROTOCOL|HTTP_REQUEST/

const UNREACHABLE = new Set(['ECONNREFUSED', 'ENOTFOUND'])

const NETWORK: Record<string, Sentence> = {
  ECONNREFUSED: sentence('net.refused'),
  ENOTFOUND: sentence('net.unknown_host'),
  EAI_AGAIN: sentence('net.dns'),
  ECONNRESET: sentence('net.reset'),
  EPIPE: sentence('net.closed'),
  ETIMEDOUT: sentence('net.connect_timeout'),
  EHOSTUNREACH: sentence('net.host_unreachable'),
  ENETUNREACH: sentence('net.network_unreachable'),
  UND_ERR_CONNECT_TIMEOUT: sentence('net.connect_timeout'),
  UND_ERR_SOCKET: sentence('net.closed'),
}

/** Converts errors thrown by undici. */
export const toNetworkFailure = (error: unknown, url: string): ProviderFailure => {
  if (error instanceof ProviderFailure) return error
  const code = (error as { code?: unknown } | null)?.code
  const host = hostOf(url)
  if (typeof code === 'string' && NOT_TRUSTED.test(code))
    return new ProviderFailure('network', sentence('turn.certificate', { host, code }), {
      retryable: false,
    })
  if (typeof code === 'string' && NOT_TLS.test(code))
    return new ProviderFailure('wrong_address', sentence('turn.no_https', { host }))
  if (code === 'UND_ERR_INVALID_ARG' && /header/i.test(messageOf(error)))
    return new ProviderFailure('auth_mismatch', sentence('turn.key_characters'))
  if (code === 'ERR_INVALID_URL' || code === 'UND_ERR_INVALID_ARG')
    return new ProviderFailure('wrong_address', sentence('turn.address', { host }))
  const reason = (typeof code === 'string' && NETWORK[code]) || messageOf(error)
  return new ProviderFailure('network', sentence('turn.no_response_from', { host, reason }), {
    isUnreachable: typeof code === 'string' && UNREACHABLE.has(code),
  })
}

/** A pair of backslashes, or the escape that `JSON.stringify` writes for half of a character. */
const ESCAPE = /\\(?:\\|ud[89a-f][0-9a-f]{2})/g

/** Truncation can cut a character of two code units. Anthropic rejects such a request: "no low surrogate in string". */
const withoutHalves = (json: string): string =>
  json.includes('\\ud')
    ? json.replace(ESCAPE, match => (match === '\\\\' ? match : '\ufffd'))
    : json

/** Memory grows to the next power of two from here on, so that the memory of one body fits the next, which is a little longer. */
const LEAST_BYTES = 64 * 1024

/** At most, of a unit of UTF-16. */
const MAX_UTF8 = 3

const grown = (memory: Buffer, used: number, needed: number): Buffer => {
  let size = Math.max(LEAST_BYTES, memory.length)
  while (size < used + needed) size *= 2
  const larger = Buffer.allocUnsafeSlow(size)
  memory.copy(larger, 0, 0, used)
  return larger
}

/** Text, the value after it if there is one, and where the bytes of both end. */
type EncodedPart = { text: string; value: unknown; end: number }

/** `memory` begins with `bytes`. */
export type EncodedJson = { bytes: Buffer; memory: Buffer; parts: readonly EncodedPart[] }

const NONE = Buffer.alloc(0)

/**
 * The bytes of `JSON.stringify(body)`, with U+FFFD for half a character. `earlier`: a body that is sent no more. Its memory is
 * used, and what both begin with, such as the history of a conversation, is not encoded again.
 */
export const encodeJson = (
  body: Readonly<Record<string, unknown>>,
  earlier: EncodedJson = { bytes: NONE, memory: NONE, parts: [] },
): EncodedJson => {
  let { memory } = earlier
  let at = 0
  let isSame = true
  const parts: EncodedPart[] = []
  const write = (json: string): void => {
    const whole = withoutHalves(json)
    const room = memory.length - at
    if (whole.length * MAX_UTF8 > room) {
      const bytes = Buffer.byteLength(whole)
      if (bytes > room) memory = grown(memory, at, bytes)
    }
    at += memory.write(whole, at)
  }
  const add = (text: string, value?: unknown): void => {
    const part = isSame ? earlier.parts[parts.length] : undefined
    isSame = part?.text === text && isSameJson(part.value, value)
    if (part && isSame) at = part.end
    else write(value === undefined ? text : `${text}${JSON.stringify(value)}`)
    parts.push({ text, value, end: at })
  }
  let separator = '{'
  for (const [key, value] of Object.entries(body)) {
    if (value === undefined) continue
    const name = `${separator}${JSON.stringify(key)}:`
    separator = ','
    if (!Array.isArray(value)) {
      add(name, value)
      continue
    }
    add(`${name}[`)
    for (const [index, element] of value.entries()) add(index > 0 ? ',' : '', element ?? null)
    add(']')
  }
  add(separator === '{' ? '{}' : '}')
  return { bytes: memory.subarray(0, at), memory, parts }
}
