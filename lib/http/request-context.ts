/** What plumbing knows of one request: the part of a handler's context that belongs to no domain. */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Client } from './client-address.ts'
import { parseCookies } from './cookies.ts'
import { parseQuery } from './parse-input.ts'
import type { AnyEndpoint } from './routes.ts'

/** One request on its way through `serve.ts`, with what its answer has gathered so far. */
export type Exchange = {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly method: string
  readonly path: string
  readonly queryText: string
  /** `performance.now()` */
  readonly startedMs: number
  /** Flat headers a handler asked for. */
  headers: string[]
  nonce: string | undefined
  cookies: Record<string, string> | undefined
  client: Client | undefined
  /** What is being called, once that is known. */
  endpoint: AnyEndpoint | undefined
}

/** What all requests of one service share. */
export type RequestServices = {
  clientOf(exchange: Exchange): Client
  describeApi(): unknown
}

export const cookiesOf = (exchange: Exchange): Record<string, string> => {
  exchange.cookies ??= parseCookies(exchange.req.headers.cookie)
  return exchange.cookies
}

/**
 * Everything is worked out when it is first asked for: most requests need little of it.
 * A context is made of it by adding to it (`Object.assign(base, { app })`), never by spreading, which would copy
 * nothing of a class; the compiler refuses that because the methods go missing.
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

  get req(): IncomingMessage {
    return this.#exchange.req
  }

  get method(): string {
    return this.#exchange.method
  }

  /** The endpoint only shows something: it changes nothing and asks nobody. */
  get isReadOnly(): boolean {
    const { method, endpoint } = this.#exchange
    return (method === 'GET' || method === 'HEAD') && !endpoint?.effects
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

  /** Aborted when the caller is gone before it has its whole answer. */
  get signal(): AbortSignal {
    if (this.#stop) return this.#stop.signal
    const stop = new AbortController()
    this.#stop = stop
    const { res } = this.#exchange
    const left = () => {
      if (!res.writableFinished) stop.abort()
    }
    if (res.destroyed) left()
    else res.once('close', left)
    return stop.signal
  }

  setCookie(text: string): void {
    this.#exchange.headers.push('Set-Cookie', text)
  }

  /** Adds a header to the answer; lost when the request is refused. */
  setHeader(name: string, value: string): void {
    this.#exchange.headers.push(name, value)
  }

  /**
   * Admits inline style of this answer's document only; from the first call on the policy names it. `held` is that of
   * a copy the browser keeps.
   */
  nonce(held?: string): string {
    this.#exchange.nonce ??= held ?? randomBytes(16).toString('base64url')
    return this.#exchange.nonce
  }

  /** The OpenAPI document of the table this request was found in. */
  describeApi(): unknown {
    return this.#service.describeApi()
  }
}
