/**
 * The server: routing, access, input, replies, and the event stream, for any domain. Here a request is turned into a response: route,
 * access checks, input, handler, reply. What a handler throws is caught here only.
 */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../base/clock.ts'
import { withoutBasePath } from '../base/base-path.ts'
import { isObject } from '../base/json.ts'
import { withinRequest } from '../base/request-scope.ts'
import { missing } from '../errors.ts'
import type { Access as Asked } from '../schema/person.ts'
import { type Authenticator, Access, type AccessConfig, type IsOwnChild } from './access.ts'
import { bodyTooLarge, declaredBytes, MAX_BODY_BYTES, readJson } from './body.ts'
import { type Client, createClientReader } from './client-address.ts'
import { returnToCookie } from './cookies.ts'
import type { RouteTable } from './endpoint.ts'
import { createOpenApiDocument } from './openapi.ts'
import { type KeyStore, Once } from './once.ts'
import { OpenResponses } from './open-responses.ts'
import { parseFields, parseInput, parseQuery } from './parse-input.ts'
import { prefixHint } from './proxy-hints.ts'
import { isDescribed, redirect, reply } from './reply.ts'
import type { CtxParameters, Exchange, RequestServices } from './request-context.ts'
import type { AnyEndpoint } from './endpoint.ts'
import { basePathProblem, firstSegments, isMethod, type RouteMatch, Routes } from './routes.ts'
import {
  type CountedRequest,
  type RequestLog,
  type ResponseHold,
  ResponseWriter,
} from './write-response.ts'

export { BaseCtx, type CtxParameters } from './request-context.ts'

export type ListenerOptions<Ctx> = {
  /** Routes with one parameter (`GET /session/:id`) or a whole tree (`GET /static/*`). */
  patternRoutes?: RouteTable
  /** Path of the page, which a person who opens an address that does not exist gets, with a 404. Absent: JSON. */
  page?: string
  clock: Clock
  authenticator: Authenticator
  makeCtx: (...base: CtxParameters) => Ctx
  config: AccessConfig & {
    trustedProxies: readonly string[]
    hasTrustedProxies?: boolean
    basePath?: string
  }
  log: RequestLog
  /** Counts finished requests. */
  onRequest?: ((finished: CountedRequest) => void) | undefined
  /** Where responses wait until what they show is kept. */
  hold?: ResponseHold | undefined
  version: string
  /** For development and tests: a reply that does not match `output` is a 500. */
  checkOutput?: boolean
  /** Absent where the peer's process cannot be determined. */
  isOwnChild?: IsOwnChild | undefined
  /** Absent: an `Idempotency-Key` has no effect. */
  keys?: KeyStore | undefined
  /** Longest pause inside a request body; 30 seconds when absent. */
  bodyIdleMs?: number
}

export type Listener = (req: IncomingMessage, res: ServerResponse) => void

const BODY_IDLE_MS = 30_000

const notFound = () => missing('not found')

/** Accepts `/a?b` and `http://host/a?b`. Paths are compared as sent: nothing is decoded or normalized. */
const splitUrl = (url: string): { path: string; queryText: string } => {
  const text = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '')
  const cut = text.indexOf('?')
  return cut < 0
    ? { path: text, queryText: '' }
    : { path: text.slice(0, cut), queryText: text.slice(cut + 1) }
}

/** Adds the path parameter to the input. */
const withParam = <T extends Record<string, unknown>>(input: T, match: RouteMatch): T => {
  const { entry, value } = match
  if (value === undefined || entry.param === undefined) return input
  return Object.assign(input, { [entry.param]: value })
}

const isThenable = (value: unknown): value is Promise<unknown> =>
  value instanceof Promise ||
  (isObject(value) && 'then' in value && typeof value.then === 'function')

const isReading = (x: Exchange): boolean => x.method === 'GET' || x.method === 'HEAD'

const isPublic = (endpoint: AnyEndpoint | undefined): boolean => endpoint?.public === true

const findEndpoint = (match: RouteMatch | undefined, method: string): AnyEndpoint | undefined => {
  if (!match) return undefined
  const { entry } = match
  if (!isMethod(method) && method !== 'HEAD') return undefined
  const endpoint = entry.endpoint(method === 'HEAD' ? 'GET' : method)
  return method === 'HEAD' && endpoint?.effects ? undefined : endpoint
}

/** Throws when a JSON reply does not match `output`. The value is sent unchanged, extra keys included. */
const checkOutput = (endpoint: AnyEndpoint, value: unknown, name: string): void => {
  if (!endpoint.output) return
  const json = !isDescribed(value)
    ? value
    : value.body.kind === 'json' && (value.status ?? 200) === 200
      ? value.body.value
      : undefined
  if (json === undefined) return
  const result = endpoint.output.safeParse(json)
  if (!result.success) throw new Error(`${name} does not match its schema: ${result.error.message}`)
}

/** What a trusted proxy may call a request, so that its log and ours name it alike. */
const PROXY_ID = /^[\w.:-]{1,128}$/

/** Ids with a random part for this process and a counter: making them costs nothing. */
class RequestIds {
  readonly #process = randomBytes(6).toString('hex')
  #count = 0

  next(): string {
    return `${this.#process}-${(this.#count++).toString(36)}`
  }
}

/** The path is empty for the base path without its slash. */
const exchangeOf = (
  req: IncomingMessage,
  res: ServerResponse,
  client: Client | undefined,
  id: string,
): Exchange => {
  const { path, queryText } = splitUrl(req.url ?? '/')
  return {
    req,
    res,
    method: req.method ?? 'GET',
    path: client ? withoutBasePath(path, client.prefix) : path,
    queryText,
    id,
    startedMs: performance.now(),
    headers: [],
    nonce: undefined,
    cookies: undefined,
    client,
    user: undefined,
    person: undefined,
    endpoint: undefined,
    route: undefined,
    requestKey: undefined,
    endsWithConnection: false,
  }
}

/** Refuses a form that is too large before its body is read. */
const admitForm = ({ req, res }: Exchange, { maxBytes = MAX_BODY_BYTES }: AnyEndpoint): void => {
  if (declaredBytes(req) > maxBytes) throw bodyTooLarge(maxBytes)
  // The server has invited smaller ones already.
  if (declaredBytes(req) > MAX_BODY_BYTES && req.headers.expect) res.writeContinue()
}

const queryOf = ({ queryText }: Exchange): string => (queryText === '' ? '' : `?${queryText}`)

/** Serves a route table. */
export class RequestListener<Ctx> {
  readonly #options: ListenerOptions<Ctx>
  readonly #routes: Routes
  /** First segments of all paths. */
  readonly #ownNames: ReadonlySet<string>
  readonly #readClient: (req: IncomingMessage) => Client
  readonly #access: Access
  readonly #writer: ResponseWriter
  readonly #ids = new RequestIds()
  readonly #openResponses: OpenResponses
  readonly #once: Once | undefined
  readonly #services: RequestServices

  constructor(routes: RouteTable, options: ListenerOptions<Ctx>) {
    const { patternRoutes = {}, authenticator, config, version, log } = options
    this.#options = options
    this.#routes = new Routes(routes, patternRoutes)
    this.#ownNames = firstSegments(routes, patternRoutes)
    const problem = basePathProblem(config.basePath ?? '', this.#ownNames)
    if (problem !== null) throw new Error(problem)
    this.#readClient = createClientReader(config.trustedProxies, config)
    this.#writer = new ResponseWriter(version, log, options.onRequest, options.hold)
    this.#openResponses = new OpenResponses(options.clock)
    this.#once = options.keys && new Once(options.keys)
    this.#services = this.#servicesOf(routes, patternRoutes)
    this.#access = new Access({
      authenticator,
      config,
      isOwnChild: options.isOwnChild,
      clientOf: this.#services.clientOf,
      warn: log.warn,
    })
  }

  /** For `createServer`. */
  readonly listen: Listener = (req, res) => {
    const x = exchangeOf(req, res, this.#clientWithBase(req), this.#idOf(req))
    const { traceparent } = req.headers
    const scope = {
      id: x.id,
      traceparent: typeof traceparent === 'string' ? traceparent : undefined,
    }
    withinRequest(scope, () => this.#respond(x))
  }

  /** What a handler may ask about its request and about the table. */
  #servicesOf(routes: RouteTable, patternRoutes: RouteTable): RequestServices {
    const { version } = this.#options
    let document: unknown
    let accessOfRoutes: (readonly [route: string, access: Asked])[] | undefined
    return {
      clientOf: x => this.#clientOf(x),
      admitAgain: x => void this.#access.admit(x, x.endpoint),
      describeApi() {
        document ??= createOpenApiDocument(routes, patternRoutes, version)
        return document
      },
      routeAccess() {
        accessOfRoutes ??= Object.entries({ ...routes, ...patternRoutes })
          .filter(([, { public: isPublic, byToken }]) => !isPublic && !byToken)
          .map(([route, { access = 'own' }]) => [route, access] as const)
        return accessOfRoutes
      },
    }
  }

  #clientOf(x: Exchange): Client {
    x.client ??= this.#readClient(x.req)
    return x.client
  }

  /** Kept by the proxy or removed: the same paths match. */
  #isBase(path: string): boolean {
    return path !== '' && !this.#ownNames.has(path.split('/')[1] ?? '')
  }

  /** Reading the prefix costs time, so it is read only where there can be one. */
  #clientWithBase(req: IncomingMessage): Client | undefined {
    const { basePath = '' } = this.#options.config
    if (basePath === '' && req.headers['x-forwarded-prefix'] === undefined) return undefined
    const client = this.#readClient(req)
    return this.#isBase(client.prefix) ? client : undefined
  }

  readonly #isPublicPath = (path: string): boolean => {
    const entry = this.#routes.match(path)?.entry
    return path === '/' || isPublic(entry?.endpoint('GET')) || isPublic(entry?.endpoint('POST'))
  }

  #redirectToLogin(x: Exchange) {
    const { prefix, secure } = this.#clientOf(x)
    // Only pages that exist are worth returning to.
    if (x.endpoint?.page && x.method === 'GET')
      x.headers.push('Set-Cookie', returnToCookie(`${x.path}${queryOf(x)}`, { prefix, secure }))
    return redirect(`${prefix}/login`)
  }

  /** 404 or 405. Whether a path exists is shown only to those who may call it. */
  #rejectUnknown(x: Exchange, match: RouteMatch | undefined) {
    if (x.path === '' && isReading(x)) return redirect(`${this.#clientOf(x).prefix}/${queryOf(x)}`)
    const hint = match || !this.#isBase(x.path) ? null : prefixHint(x.path, this.#isPublicPath)
    if (hint !== null) throw missing(hint)
    const [GET, POST] = [match?.entry.endpoint('GET'), match?.entry.endpoint('POST')]
    if (!this.#access.admit(x, GET?.public ? GET : POST?.public ? POST : (GET ?? POST)))
      return this.#redirectToLogin(x)
    if (!match || ((GET ?? POST)?.loopback && !this.#clientOf(x).loopback))
      return this.#rejectAddress(x)
    return reply(
      { error: `${x.method} is not allowed here`, code: 'method_not_allowed' },
      { status: 405, headers: { Allow: match.entry.allow }, cache: 'no-store' },
    )
  }

  /** A browser that opens an address asks for HTML. */
  #rejectAddress(x: Exchange): Promise<unknown> {
    const { page = '' } = this.#options
    const endpoint = this.#routes.match(page)?.entry.endpoint('GET')
    const isOpened = isReading(x) && /\btext\/html\b/.test(x.req.headers.accept ?? '')
    if (!endpoint || !isOpened || x.path.startsWith('/api/')) throw notFound()
    x.endpoint = endpoint
    return Promise.resolve(this.#run(x, endpoint, {})).then(result =>
      isDescribed(result) ? { ...result, status: 404 } : result,
    )
  }

  #run(x: Exchange, endpoint: AnyEndpoint, input: unknown): unknown {
    const ctx = this.#options.makeCtx(x, this.#services)
    const { audit } = endpoint
    if (!audit) return endpoint.run(ctx, input as never)
    return Promise.try(() => endpoint.run(ctx, input as never)).then(
      value => {
        audit(ctx, input as never)
        return value
      },
      error => {
        audit(ctx, input as never, error)
        throw error
      },
    )
  }

  #call(x: Exchange, endpoint: AnyEndpoint, match: RouteMatch): unknown {
    const { req, queryText } = x
    if (!this.#access.admit(x, endpoint)) return this.#redirectToLogin(x)
    this.#access.checkSource(x, endpoint)
    const { input: schema } = endpoint
    if (isReading(x)) {
      const fields = schema && withParam(parseQuery(queryText), match)
      return this.#run(x, endpoint, fields ? parseFields(schema, fields) : {})
    }
    if (endpoint.multipart) {
      admitForm(x, endpoint)
      return this.#run(x, endpoint, {})
    }
    return readJson(req, this.#options.bodyIdleMs ?? BODY_IDLE_MS).then(body => {
      // The sign-in may have ended, or a password may have been set, while the body arrived.
      this.#access.admit(x, endpoint)
      const input = schema ? parseInput(schema, withParam(body, match)) : {}
      const work = () => this.#run(x, endpoint, input)
      return this.#once ? this.#once.run(x, endpoint, input, work) : work()
    })
  }

  #handle(x: Exchange): unknown {
    this.#access.checkHost(x)
    this.#access.readUser(x)
    const match = this.#routes.match(x.path)
    const endpoint = findEndpoint(match, x.method)
    if (!endpoint || !match) return this.#rejectUnknown(x, match)
    x.endpoint = endpoint
    x.route = match.entry.route
    if (endpoint.loopback && !this.#clientOf(x).loopback) throw notFound()
    const isOpen = endpoint.public || endpoint.byToken
    const ready = isOpen ? undefined : this.#options.authenticator.ready?.()
    return ready ? ready.then(() => this.#call(x, endpoint, match)) : this.#call(x, endpoint, match)
  }

  #send(x: Exchange, value: unknown): void | Promise<void> {
    const { endpoint, res } = x
    if (this.#options.checkOutput && endpoint) checkOutput(endpoint, value, `${x.method} ${x.path}`)
    const cache = endpoint?.cache ?? (isReading(x) ? 'no-cache' : 'no-store')
    const sending = this.#writer.whenKept(x, () => this.#writer.send(x, value, cache))
    // A response that fits into the socket's buffer is complete.
    const isDone = !(sending instanceof Promise) && (res.socket?.writableLength ?? 0) === 0
    if (!isDone && endpoint && !endpoint.public)
      this.#openResponses.watch(res, () => this.#access.isStillAdmitted(x))
    return sending
  }

  /** The peer must be a proxy that an administrator trusts: others could forge ids of other requests. */
  #idOf(req: IncomingMessage): string {
    const id = req.headers['x-request-id']
    if (typeof id !== 'string' || !PROXY_ID.test(id)) return this.#ids.next()
    return this.#readClient(req).isTrustedPeer ? id : this.#ids.next()
  }

  #respond(x: Exchange): void {
    const fail = (error: unknown) => this.#writer.fail(x, error)
    try {
      const value = this.#handle(x)
      // A value that is already there is written in the same tick.
      const sending = isThenable(value)
        ? value.then(result => this.#send(x, result))
        : this.#send(x, value)
      if (sending instanceof Promise) sending.catch(fail)
    } catch (error) {
      fail(error)
    }
  }
}
