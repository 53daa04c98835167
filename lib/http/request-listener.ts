/** Turns a request into a response: route, access checks, input, handler, reply. The only place that catches errors. */
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
import {
  basePathProblem,
  createRouteMatcher,
  firstSegments,
  isMethod,
  type RouteMatch,
} from './routes.ts'
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
  /** Longest pause inside a request body. */
  bodyIdleMs?: number
}

export type Listener = (req: IncomingMessage, res: ServerResponse) => void

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
const createIds = () => {
  const process = randomBytes(6).toString('hex')
  let count = 0
  return (): string => `${process}-${(count++).toString(36)}`
}

/** The path is empty for the base path without its slash. */
const createExchange = (
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

export const createRequestListener = <Ctx>(
  routes: RouteTable,
  options: ListenerOptions<Ctx>,
): Listener => {
  const {
    patternRoutes = {},
    authenticator,
    makeCtx,
    config,
    version,
    bodyIdleMs = 30_000,
  } = options
  const matchRoute = createRouteMatcher(routes, patternRoutes)
  const { basePath = '' } = config
  const ownNames = firstSegments(routes, patternRoutes)
  /** Kept by the proxy or removed: the same paths match. */
  const isBase = (path: string): boolean => path !== '' && !ownNames.has(path.split('/')[1] ?? '')
  const problem = basePathProblem(basePath, ownNames)
  if (problem !== null) throw new Error(problem)
  const readClient = createClientReader(config.trustedProxies, config)
  const writer = new ResponseWriter(version, options.log, options.onRequest, options.hold)
  const createId = createIds()
  const openResponses = new OpenResponses(options.clock)
  const once = options.keys && new Once(options.keys)
  let document: unknown
  let accessOfRoutes: (readonly [route: string, access: Asked])[] | undefined
  const services: RequestServices = {
    clientOf(x) {
      x.client ??= readClient(x.req)
      return x.client
    },
    admitAgain: x => void access.admit(x, x.endpoint),
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
  const { clientOf } = services
  const access = new Access({
    authenticator,
    config,
    isOwnChild: options.isOwnChild,
    clientOf,
    warn: options.log.warn,
  })

  /** Reading the prefix costs time, so it is read only where there can be one. */
  const clientWithBase = (req: IncomingMessage): Client | undefined => {
    if (basePath === '' && req.headers['x-forwarded-prefix'] === undefined) return undefined
    const client = readClient(req)
    return isBase(client.prefix) ? client : undefined
  }

  const isPublicPath = (path: string): boolean => {
    const entry = matchRoute(path)?.entry
    return path === '/' || isPublic(entry?.endpoint('GET')) || isPublic(entry?.endpoint('POST'))
  }

  const redirectToLogin = (x: Exchange) => {
    const { prefix, secure } = clientOf(x)
    // Only pages that exist are worth returning to.
    if (x.endpoint?.page && x.method === 'GET')
      x.headers.push('Set-Cookie', returnToCookie(`${x.path}${queryOf(x)}`, { prefix, secure }))
    return redirect(`${prefix}/login`)
  }

  /** 404 or 405. Whether a path exists is shown only to those who may call it. */
  const rejectUnknown = (x: Exchange, match: RouteMatch | undefined) => {
    if (x.path === '' && isReading(x)) return redirect(`${clientOf(x).prefix}/${queryOf(x)}`)
    const hint = match || !isBase(x.path) ? null : prefixHint(x.path, isPublicPath)
    if (hint !== null) throw missing(hint)
    const [GET, POST] = [match?.entry.endpoint('GET'), match?.entry.endpoint('POST')]
    if (!access.admit(x, GET?.public ? GET : POST?.public ? POST : (GET ?? POST)))
      return redirectToLogin(x)
    if (!match || ((GET ?? POST)?.loopback && !clientOf(x).loopback)) throw notFound()
    return reply(
      { error: `${x.method} is not allowed here`, code: 'method_not_allowed' },
      { status: 405, headers: { Allow: match.entry.allow }, cache: 'no-store' },
    )
  }

  const run = (x: Exchange, endpoint: AnyEndpoint, input: unknown): unknown => {
    const ctx = makeCtx(x, services)
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

  const call = (x: Exchange, endpoint: AnyEndpoint, match: RouteMatch): unknown => {
    const { req, queryText } = x
    if (!access.admit(x, endpoint)) return redirectToLogin(x)
    access.checkSource(x, endpoint)
    const { input: schema } = endpoint
    if (isReading(x)) {
      const fields = schema && withParam(parseQuery(queryText), match)
      return run(x, endpoint, fields ? parseFields(schema, fields) : {})
    }
    if (endpoint.multipart) {
      admitForm(x, endpoint)
      return run(x, endpoint, {})
    }
    return readJson(req, bodyIdleMs).then(body => {
      // The sign-in may have ended, or a password may have been set, while the body arrived.
      access.admit(x, endpoint)
      const input = schema ? parseInput(schema, withParam(body, match)) : {}
      const work = () => run(x, endpoint, input)
      return once ? once.run(x, endpoint, input, work) : work()
    })
  }

  const handle = (x: Exchange): unknown => {
    access.checkHost(x)
    access.readUser(x)
    const match = matchRoute(x.path)
    const endpoint = findEndpoint(match, x.method)
    if (!endpoint || !match) return rejectUnknown(x, match)
    x.endpoint = endpoint
    x.route = match.entry.route
    if (endpoint.loopback && !clientOf(x).loopback) throw notFound()
    const ready = endpoint.public || endpoint.byToken ? undefined : authenticator.ready?.()
    return ready ? ready.then(() => call(x, endpoint, match)) : call(x, endpoint, match)
  }

  const send = (x: Exchange, value: unknown): void | Promise<void> => {
    const { endpoint, res } = x
    if (options.checkOutput && endpoint) checkOutput(endpoint, value, `${x.method} ${x.path}`)
    const cache = endpoint?.cache ?? (isReading(x) ? 'no-cache' : 'no-store')
    const written = writer.whenKept(x, () => writer.send(x, value, cache))
    // A response that fits into the socket's buffer is complete.
    const isDone = !(written instanceof Promise) && (res.socket?.writableLength ?? 0) === 0
    if (!isDone && endpoint && !endpoint.public)
      openResponses.watch(res, () => access.isStillAdmitted(x))
    return written
  }

  /** The peer must be a proxy that an administrator trusts: others could forge ids of other requests. */
  const idOf = (req: IncomingMessage): string => {
    const given = req.headers['x-request-id']
    if (typeof given !== 'string' || !PROXY_ID.test(given)) return createId()
    return readClient(req).isTrustedPeer ? given : createId()
  }

  const respond = (x: Exchange): void => {
    const fail = (error: unknown) => writer.fail(x, error)
    try {
      const value = handle(x)
      // A value that is already there is written in the same tick.
      const written = isThenable(value) ? value.then(result => send(x, result)) : send(x, value)
      if (written instanceof Promise) written.catch(fail)
    } catch (error) {
      fail(error)
    }
  }

  return (req, res) => {
    const x = createExchange(req, res, clientWithBase(req), idOf(req))
    const { traceparent } = req.headers
    const scope = {
      id: x.id,
      traceparent: typeof traceparent === 'string' ? traceparent : undefined,
    }
    withinRequest(scope, () => respond(x))
  }
}
