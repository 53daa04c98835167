/** Typed API client: the only user of `fetch`, with sign-in on 401 and one error type. */
import { asObject } from '../lib/base/json.ts'
import { isGatewayStatus } from '../lib/base/unreachable.ts'
import type { Api } from '../router.ts'

/** Text to copy, and the label of the button that does it. */
export type ErrorDetail = { label: string; text: string }

/** An error reply of the server, or `status: 0` when it can't be reached. `body` has the fields beside `error`. */
export class ApiError extends Error {
  readonly status: number
  /** The server's stable error code; null when there is none, for example from a proxy. */
  readonly code: string | null
  readonly body: Readonly<Record<string, unknown>>
  /** For the one who reads the server's log; absent unless the server failed. */
  copyable?: ErrorDetail | null | undefined

  constructor(status: number, message: string, body: Record<string, unknown> = {}) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.code = typeof body.code === 'string' ? body.code : null
    this.body = body
  }
}

/** How long sending a message may take. It has an id, so it can be sent again. */
export const SEND_MS = 30_000

/** Of a service that ends, or a forwarder whose service was killed, is not there so far, or waits for its database. */
const UNANSWERED = ['shutting_down', 'bad_gateway', 'server_starting', 'database_unavailable']

/** Nothing was answered: the request may or may not have arrived. A proxy says the same with its own reply. */
export const isUnreachable = (error: unknown): boolean => {
  if (error instanceof DOMException) return error.name === 'TimeoutError'
  if (!(error instanceof ApiError)) return false
  const { status, code } = error
  return status === 0 || (code === null ? isGatewayStatus(status) : UNANSWERED.includes(code))
}

/** Not because of what was asked: the same request may succeed later. */
export const isTemporary = (error: unknown): boolean =>
  !(error instanceof ApiError) || [0, 429].includes(error.status) || error.status >= 500

type Route = keyof Api & string
type Input<R extends Route> = Api[R]['input']
type Arguments<R extends Route> =
  undefined extends Input<R>
    ? [input?: Input<R>, options?: CallOptions]
    : [input: Input<R>, options?: CallOptions]

export type CallOptions = {
  signal?: AbortSignal
  keepalive?: boolean
  /** Names the request for the server, which carries it out once. For callers that repeat it themselves. */
  key?: string
}
export type ApiCall = <R extends Route>(
  route: R,
  ...rest: Arguments<R>
) => Promise<Api[R]['output']>

export type Transport = {
  fetch: typeof fetch
  /** Base URL of the page; all URLs are built on it, so the page works under any path. */
  base: string
  /** Resolves when the user has signed in again; the call is then repeated. */
  signIn: () => Promise<void>
  unreachable: () => string
  /** Someone else has signed in in this browser. */
  onOtherAccount: () => void
}

/** Requests that start or create something. They get a key, so that one whose reply was lost can be made again. */
export const CREATING =
  /^POST \/api\/(?!auth|mcp).*\/(new|create|add|run|steer|interrupt|duplicate|branch|import|btw|background)$|^POST \/api\/(btw|background)$/

/** `crypto.randomUUID` exists only over https and on this computer. */
const randomKey = (): string =>
  [...crypto.getRandomValues(new Uint32Array(4))].map(part => part.toString(36)).join('')

/** Builds a URL: `path` has no leading slash, empty values are omitted. */
export const urlOf = (base: string, path: string, query: Record<string, unknown> = {}): string => {
  const url = new URL(path.replace(/^\/+/, ''), base)
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') url.searchParams.set(key, `${value}`)
  }
  return url.href
}

/** Whether the server replies now. */
export const canReach = async (base: string): Promise<boolean> => {
  const reply = await fetch(urlOf(base, 'health'), { cache: 'no-store' }).catch(() => null)
  return reply?.ok === true
}

const bodyOf = async (response: Response): Promise<Record<string, unknown>> => {
  const text = await response.text()
  try {
    const value: unknown = JSON.parse(text)
    return asObject(value)
  } catch {
    // A proxy may reply with its own page; only the status is usable.
    return {}
  }
}

/**
 * The page's text for the code, or else the server's sentence. The texts are loaded with the first error, to keep them out
 * of the first page load.
 */
export const toApiError = async (
  { status, statusText }: Pick<Response, 'status' | 'statusText'>,
  body: Record<string, unknown>,
  route: string,
): Promise<ApiError> => {
  const texts = await import('./strings/server-text.ts').catch(() => undefined)
  const sentence = body.error ?? body.message
  const fallback =
    typeof sentence === 'string' ? sentence : [status, statusText].filter(Boolean).join(' ')
  const message = texts?.replyText(body, fallback) ?? fallback
  const error = new ApiError(status, message, body)
  error.copyable = texts?.errorDetail(status, body, route)
  return error
}

/** What is between this page and the server lost the connection to it, and did not wait for another one. */
const isBroken = async (response: Response): Promise<boolean> => {
  if (!isGatewayStatus(response.status) || response.status === 503) return false
  const { code } = await bodyOf(response.clone())
  return code === undefined || code === 'bad_gateway'
}

/** The browser sets the content type of a form, because it includes the boundary. */
const bodyFor = (input: unknown, key: string | undefined): RequestInit =>
  input instanceof FormData
    ? { body: input }
    : {
        headers: { 'content-type': 'application/json', ...(key && { 'idempotency-key': key }) },
        body: JSON.stringify(input ?? {}),
      }

const request = (
  method: string,
  base: string,
  path: string,
  input: unknown,
  { key, ...options }: CallOptions,
) =>
  method === 'GET'
    ? ([
        urlOf(base, path, input as Record<string, unknown>),
        { credentials: 'include', ...options },
      ] as const)
    : ([
        urlOf(base, path),
        {
          method,
          credentials: 'include',
          ...bodyFor(input, key),
          ...options,
        },
      ] as const)

export const createApi = (transport: Transport): ApiCall => {
  const { fetch, base, signIn, unreachable, onOtherAccount } = transport
  const send = async (route: string, input: unknown, options: CallOptions): Promise<Response> => {
    const [method = 'GET', path = ''] = route.split(' ')
    try {
      const [url, init] = request(method, base, path, input, options)
      return await fetch(url, init)
    } catch (error) {
      if (options.signal?.aborted) throw error
      // fetch doesn't report why it failed; show that the server is unreachable.
      throw new ApiError(0, unreachable())
    }
  }

  /** Made again once where the reply was lost, for example with a connection that a restart of the server ended. */
  const sendOnce = async (
    route: string,
    input: unknown,
    options: CallOptions,
  ): Promise<Response> => {
    const withKey = { ...options, key: randomKey() }
    const first = await send(route, input, withKey).catch(error => {
      if (error instanceof ApiError) return null
      throw error
    })
    return first && !(await isBroken(first)) ? first : send(route, input, withKey)
  }

  return async (route, ...[input, options = {}]) => {
    const make = options.key === undefined && CREATING.test(route) ? sendOnce : send
    let response = await make(route, input, options)
    if (response.status === 401 && !/\/login$/.test(route)) {
      await signIn()
      response = await make(route, input, options)
    }
    const body = await bodyOf(response)
    if (response.ok) return body as never
    if (body.code === 'other_account') onOtherAccount()
    throw await toApiError(response, body, route)
  }
}

/** GET without a body, unless these say otherwise. */
type BlobOptions = CallOptions & Pick<RequestInit, 'method' | 'headers' | 'body'>

export type FetchBlob = (
  path: string,
  query: Record<string, unknown>,
  options?: BlobOptions,
) => Promise<Blob>

/** Fetches binary replies: files and audio. */
export const createFetchBlob = (transport: Omit<Transport, 'onOtherAccount'>): FetchBlob => {
  const { fetch, base, signIn, unreachable } = transport
  const send = async (url: string, options: BlobOptions): Promise<Response> => {
    try {
      return await fetch(url, { credentials: 'include', ...options })
    } catch (error) {
      if (options.signal?.aborted) throw error
      // As above.
      throw new ApiError(0, unreachable())
    }
  }

  return async (path, query, options = {}) => {
    const url = urlOf(base, path, query)
    let response = await send(url, options)
    if (response.status === 401) {
      await signIn()
      response = await send(url, options)
    }
    if (response.ok) return response.blob()
    const body = await bodyOf(response)
    throw await toApiError(response, body, `${options.method ?? 'GET'} ${path}`)
  }
}

const STATIC_TIMEOUT_MS = 10_000

/** A JSON file of the page itself. Throws when it cannot be loaded, also after ten seconds: the page waits for it. */
export const fetchStatic = async (base: string, name: string): Promise<unknown> => {
  const signal = AbortSignal.timeout(STATIC_TIMEOUT_MS)
  const response = await fetch(urlOf(base, `static/${name}`), { signal })
  if (!response.ok) throw new Error(name)
  return await response.json()
}
