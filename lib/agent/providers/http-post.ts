/** One POST to a provider: bounded waiting, errors as `ProviderFailure`, and the key never in any of them. */
import type { Dispatcher } from 'undici'
import { isObject } from '../../base/json.ts'
import { messageOf } from '../../errors.ts'
import { classify, ProviderFailure } from '../failure.ts'
import { retryAfterInHeaders, rateLimitResetIn } from '../retry-after.ts'

const MAX_ERROR_BYTES = 64 * 1024
const MAX_MESSAGE_CHARS = 600

export type PostOptions = {
  url: string
  /** Besides the usual ones; the key stands in one of them. */
  headers: Readonly<Record<string, string>>
  /** The key, to be hidden in whatever is answered. */
  secret: string | null
  /** JSON text. */
  body: string
  signal: AbortSignal
  dispatcher?: Dispatcher | undefined
}

/**
 * Resolves with the answer's headers and body when the status is 2xx. Throws `ProviderFailure` for
 * everything else. Redirects are not followed: the key would travel to an address nobody configured.
 */
export const postJson = async (call: PostOptions): Promise<Dispatcher.ResponseData> => {
  // Loaded with the first call: a tenth of a second and 15 MB that a start does not need.
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
    // Our own deadlines know more than these two.
    headersTimeout: 0,
    bodyTimeout: 0,
    ...(call.dispatcher && { dispatcher: call.dispatcher }),
  })
  if (answer.statusCode >= 200 && answer.statusCode < 300) return answer
  if (answer.statusCode >= 300 && answer.statusCode < 400) {
    answer.body.on('error', ignore).destroy()
    throw new ProviderFailure(
      'error',
      `${hostOf(call.url)} redirects to ${hostOf(String(answer.headers.location ?? ''), call.url)}. Set model.base_url to the final address.`,
      { status: answer.statusCode },
    )
  }
  const text = await readSome(answer.body)
  throw refusalOf(answer.statusCode, text, answer.headers, call.secret)
}

/** The body is no longer wanted; what goes wrong with it is nobody's concern. */
const ignore = () => undefined

const refusalOf = (
  status: number,
  text: string,
  headers: Dispatcher.ResponseData['headers'],
  secret: string | null,
): ProviderFailure => {
  const said = redactKey(errorMessageIn(text), secret)
  return classify({
    status,
    message: said === '' ? `The provider answered with status ${status}.` : said,
    text: `${said}\n${text.slice(0, 4_000)}`,
    isBodyEmpty: text.trim() === '',
    retryAfterMs: retryAfterInHeaders(headers),
    resetMs: status === 429 || status === 503 ? rateLimitResetIn(headers, Date.now()) : undefined,
  })
}

const readSome = async (body: AsyncIterable<Buffer>): Promise<string> => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    size += chunk.length
    if (size > MAX_ERROR_BYTES) break
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** The sentence inside an error body, whatever its shape; an HTML page shrinks to its title. */
export const errorMessageIn = (text: string): string => {
  const sentence = sentenceIn(parse(text)) ?? titleOf(text) ?? text
  return sentence.replace(/\s+/g, ' ').trim().slice(0, MAX_MESSAGE_CHARS)
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    // Not JSON: plain text or HTML.
    return null
  }
}

const titleOf = (text: string): string | null =>
  /^\s*</.test(text) ? (/<title>([^<]*)/i.exec(text)?.[1] ?? '') : null

const sentenceIn = (value: unknown): string | null => {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) return sentenceIn(value[0])
  if (!isObject(value)) return null
  const { error, message, detail, msg, loc, metadata } = value
  // Servers that check a request by its schema name the place beside the complaint.
  if (typeof msg === 'string' && Array.isArray(loc)) return `${loc.join('.')}: ${msg}`
  const sentence = sentenceIn(error) ?? sentenceIn(message) ?? sentenceIn(detail) ?? sentenceIn(msg)
  // An aggregator keeps the real provider's words apart.
  const raw = (metadata as { raw?: unknown } | null | undefined)?.raw
  return sentence !== null && typeof raw === 'string'
    ? `${sentence}: ${errorMessageIn(raw)}`
    : sentence
}

/** An address may carry a question of its own, as Azure's deployments do. */
export const appendPath = (baseUrl: string, path: string): string => {
  const [place = '', query] = baseUrl.split('?', 2)
  return `${place.replace(/\/+$/, '')}${path}${query ? `?${query}` : ''}`
}

/** Azure wants keys in a header of its own; a token of a sign-in goes where others want it. */
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

/** The header most providers want their key in. */
export const bearerHeader = (apiKey: string | null): Record<string, string> =>
  apiKey ? { authorization: `Bearer ${apiKey}` } : {}

/** Some providers quote the key they were given. */
export const redactKey = (text: string, apiKey: string | null): string => {
  const hidden = apiKey && apiKey.length >= 4 ? text.split(apiKey).join('***') : text
  return hidden.replace(/\b(sk[-_]|pk[-_]|rk[-_]|xai-|gsk_|hf_|AIza)[\w\-*.]{12,}/g, '$1***')
}

export const hostOf = (url: string, base?: string): string =>
  URL.canParse(url, base) ? new URL(url, base).host : 'another address'

/** Who is there is not who it should be; anything else that goes wrong with TLS may pass. */
const NOT_TRUSTED = /CERT|SELF_SIGNED|UNABLE_TO_(?:GET|VERIFY)|WRONG_VERSION/

const UNREACHABLE = new Set(['ECONNREFUSED', 'ENOTFOUND'])

const NETWORK: Record<string, string> = {
  ECONNREFUSED: 'the connection was refused',
  ENOTFOUND: 'the name is unknown',
  EAI_AGAIN: 'the name could not be looked up',
  ECONNRESET: 'the connection was reset',
  EPIPE: 'the connection broke',
  ETIMEDOUT: 'the connection timed out',
  EHOSTUNREACH: 'the host is unreachable',
  ENETUNREACH: 'the network is unreachable',
  UND_ERR_CONNECT_TIMEOUT: 'the connection timed out',
  UND_ERR_SOCKET: 'the connection broke off',
}

/** What undici throws, as a failure of ours. */
export const toNetworkFailure = (error: unknown, url: string): ProviderFailure => {
  if (error instanceof ProviderFailure) return error
  const code = (error as { code?: unknown } | null)?.code
  const host = hostOf(url)
  if (typeof code === 'string' && NOT_TRUSTED.test(code))
    return new ProviderFailure('network', `The certificate of ${host} is not accepted: ${code}`, {
      retryable: false,
    })
  if (code === 'UND_ERR_INVALID_ARG' && /header/i.test(messageOf(error)))
    return new ProviderFailure('auth_mismatch', 'The key contains characters that cannot be sent.')
  if (code === 'ERR_INVALID_URL' || code === 'UND_ERR_INVALID_ARG')
    return new ProviderFailure('network', `The address of the model is not a valid URL: ${host}`, {
      retryable: false,
    })
  const why = (typeof code === 'string' && NETWORK[code]) || messageOf(error)
  return new ProviderFailure('network', `No answer from ${host}: ${why}`, {
    isUnreachable: typeof code === 'string' && UNREACHABLE.has(code),
  })
}
