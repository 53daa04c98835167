/** The part of a handler's context that belongs to no domain: request, client, cookies, abort signal. */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Access, type Caller, NO_PERSON } from '../schema/person.ts'
import type { Client } from './client-address.ts'
import { parseCookies } from './cookies.ts'
import { parseQuery } from './parse-input.ts'
import type { AnyEndpoint } from './endpoint.ts'

/** One request and the state of its response. */
export type Exchange = {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly method: string
  readonly path: string
  readonly queryText: string
  /** In the response, in log lines, and unique for this process. */
  readonly id: string
  /** `performance.now()` */
  readonly startedMs: number
  /** Headers set by the handler, as a flat list of names and values. */
  headers: string[]
  nonce: string | undefined
  cookies: Record<string, string> | undefined
  client: Client | undefined
  /** Whom a trusted proxy names. */
  user: string | undefined
  /** Who was admitted. */
  person: Caller | undefined
  /** The matched endpoint. */
  endpoint: AnyEndpoint | undefined
  /** Its path in the route table, such as `/share/:token`. */
  route: string | undefined
  /** Names its `Idempotency-Key`, where the endpoint is carried out once for each. */
  requestKey: string | undefined
  /** Its work ends with its connection, so that the same request may be made again. */
  endsWithConnection: boolean
}

/** Shared by all requests of one listener. */
export type RequestServices = {
  clientOf(exchange: Exchange): Client
  /** Throws when who made the request may no longer do so. */
  admitAgain(exchange: Exchange): void
  describeApi(): unknown
  /** What each route asks of the person; without public ones and those for programs. */
  routeAccess(): readonly (readonly [route: string, access: Access])[]
}

export const cookiesOf = (exchange: Exchange): Record<string, string> => {
  exchange.cookies ??= parseCookies(exchange.req.headers.cookie)
  return exchange.cookies
}

/**
 * Properties are computed on first use: most requests need few of them. The application extends it.
 */
export class BaseCtx {
  readonly #exchange: Exchange
  readonly #service: RequestServices
  #stop: AbortController | undefined
  #url: { readonly path: string; readonly query: Readonly<Record<string, string>> } | undefined

  constructor(exchange: Exchange, service: RequestServices) {
    this.#exchange = exchange
    this.#service = service
  }

  /** In the log lines of the request, and in its response. */
  get requestId(): string {
    return this.#exchange.id
  }

  get req(): IncomingMessage {
    return this.#exchange.req
  }

  get method(): string {
    return this.#exchange.method
  }

  /** The request has no side effects. */
  get isReadOnly(): boolean {
    const { method, endpoint } = this.#exchange
    return (method === 'GET' || method === 'HEAD') && !endpoint?.effects
  }

  /** The user whom a trusted proxy names; undefined: none. */
  get user(): string | undefined {
    return this.#exchange.user
  }

  /** Who makes the request; without rights where no sign-in is asked for. */
  get person(): Caller {
    return this.#exchange.person ?? NO_PERSON
  }

  /** Names its `Idempotency-Key`; undefined when it has none. */
  get requestKey(): string | undefined {
    return this.#exchange.requestKey
  }

  /** A streamed reply ends when the client disconnects, with all work for it. Without this, it is read to its end for a repeated request. */
  endWithConnection(): void {
    this.#exchange.endsWithConnection = true
  }

  /** For a body that the handler reads itself: throws when the sign-in has ended while it arrived, or the role is another. */
  admitAgain(): void {
    this.#service.admitAgain(this.#exchange)
  }

  get client(): Client {
    return this.#service.clientOf(this.#exchange)
  }

  get cookies(): Readonly<Record<string, string>> {
    return cookiesOf(this.#exchange)
  }

  get url(): { readonly path: string; readonly query: Readonly<Record<string, string>> } {
    const { path, queryText } = this.#exchange
    this.#url ??= { path, query: parseQuery(queryText) }
    return this.#url
  }

  /** Aborted when the client disconnects before the response is complete. */
  get signal(): AbortSignal {
    if (this.#stop) return this.#stop.signal
    const stop = new AbortController()
    this.#stop = stop
    const { res } = this.#exchange
    const onClose = () => {
      if (!res.writableFinished) stop.abort()
    }
    if (res.destroyed) onClose()
    else res.once('close', onClose)
    return stop.signal
  }

  /**
   * The same, but a client that has only closed its side counts as disconnected: aborted requests of most clients look like
   * that. For work whose result has no other reader.
   */
  get disconnected(): AbortSignal {
    const { res } = this.#exchange
    const { socket } = res
    const end = new AbortController()
    const onEnd = () => end.abort()
    if (socket?.readableEnded) onEnd()
    socket?.once('end', onEnd)
    res.once('close', () => socket?.off('end', onEnd))
    return AbortSignal.any([this.signal, end.signal])
  }

  setCookie(text: string): void {
    this.#exchange.headers.push('Set-Cookie', text)
  }

  /** The CSP nonce for inline styles of this response. `cached` is the nonce of the browser's cached copy. */
  nonce(cached?: string): string {
    this.#exchange.nonce ??= cached ?? randomBytes(16).toString('base64url')
    return this.#exchange.nonce
  }

  /** The OpenAPI document of the route table. */
  describeApi(): unknown {
    return this.#service.describeApi()
  }

  routeAccess(): readonly (readonly [route: string, access: Access])[] {
    return this.#service.routeAccess()
  }
}

export type CtxParameters = ConstructorParameters<typeof BaseCtx>
