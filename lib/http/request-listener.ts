/** From a request to its answer: seven named steps in one function, and the one place that catches. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { isObject } from '../base/json.ts'
import { forbidden, invalid, missing, unauthorized } from '../errors.ts'
import { BaseCtx, cookiesOf, type Exchange, type RequestServices } from './request-context.ts'
import { MAX_BODY_BYTES, declaredBytes, readJson, bodyTooLarge } from './body.ts'
import { createClientReader } from './client-address.ts'
import { returnToCookie } from './cookies.ts'
import type { RouteTable } from './endpoint.ts'
import { parseInput, parseQuery } from './parse-input.ts'
import { createOpenResponses } from './open-responses.ts'
import { createOpenApiDocument } from './openapi.ts'
import { checkOrigin, createHostCheck, isCrossSite, UNKNOWN_HOST } from './origin.ts'
import { isDescribed, redirect, reply } from './reply.ts'
import { type AnyEndpoint, createRouteMatcher, type RouteMatch, isMethod } from './routes.ts'
import { createResponseWriter, type RequestLog } from './write-response.ts'

export { BaseCtx } from './request-context.ts'

/** Who may pass; `lib/auth/authenticator.ts` makes one. */
export type Authenticator = {
  /** A password protects the service. */
  isRequired(): boolean
  /** These cookies prove a sign-in. */
  isAuthenticated(cookies: Readonly<Record<string, string>>): boolean
  /** Pending while sign-ins cannot be judged yet, shortly after a start. */
  ready?(): Promise<unknown> | undefined
}

/** Whether a program that this service started is at the other end; absent where that cannot be known. */
export type IsOwnChild = (socket: Socket) => boolean

export type ListenerOptions<Ctx> = {
  /** Paths with one open segment (`GET /session/:id`) or a whole tree (`GET /static/*`). */
  patternRoutes?: RouteTable
  authenticator: Authenticator
  /** Adds the domain to a context: `Object.assign(base, { app, home })`. */
  makeCtx: (base: BaseCtx) => Ctx
  config: {
    host: string
    allowedOrigins: readonly string[]
    trustedProxies: readonly string[]
    hasTrustedProxies?: boolean
  }
  log: RequestLog
  version: string
  /** Development and tests: an answer that is not what `output` says is an error of ours. */
  checkOutput?: boolean
  isOwnChild?: IsOwnChild | undefined
  /** Longest silence inside a request body. */
  bodyIdleMs?: number
}

export type Listener = (req: IncomingMessage, res: ServerResponse) => void

const notFound = () => missing('not found')

const isApi = (path: string): boolean => path === '/api' || path.startsWith('/api/')

const FROM_CHILD =
  'Programs started by the agent cannot change anything here or sign in. Do it in the page, or ask in the chat.'

/** `/a?b` and `http://host/a?b` alike. Compared letter by letter: nothing is decoded, nothing is normalised. */
const splitUrl = (url: string): { path: string; queryText: string } => {
  const text = url.startsWith('/') ? url : url.replace(/^https?:\/\/[^/?]*/i, '')
  const cut = text.indexOf('?')
  return cut < 0
    ? { path: text, queryText: '' }
    : { path: text.slice(0, cut), queryText: text.slice(cut + 1) }
}

/** The open segment of a path counts as one more field of the input. */
const withOpen = <T extends Record<string, unknown>>(
  input: T,
  { entry: place, value }: RouteMatch,
): T => {
  if (value === undefined || place.param === undefined) return input
  return Object.assign(input, { [place.param]: value })
}

const isThenable = (value: unknown): value is Promise<unknown> =>
  value instanceof Promise ||
  (isObject(value) && 'then' in value && typeof value.then === 'function')

/** Refuses to answer what does not fit `output`; the value itself is sent as it is, further keys included. */
const checkOutput = (endpoint: AnyEndpoint, value: unknown, name: string) => {
  if (!endpoint.output) return
  const json = !isDescribed(value)
    ? value
    : value.body.kind === 'json' && (value.status ?? 200) === 200
      ? value.body.value
      : undefined
  if (json === undefined) return
  const result = endpoint.output.safeParse(json)
  if (!result.success)
    throw new Error(`${name} answered against its schema: ${result.error.message}`)
}

export const createRequestListener = <Ctx>(
  routes: RouteTable,
  options: ListenerOptions<Ctx>,
): Listener => {
  const {
    patternRoutes = {},
    authenticator,
    makeCtx,
    config,
    log,
    version,
    bodyIdleMs = 30_000,
  } = options
  const find = createRouteMatcher(routes, patternRoutes)
  const readClient = createClientReader(config.trustedProxies, config.hasTrustedProxies)
  const isKnownHost = createHostCheck(config.host, config.allowedOrigins)
  const writer = createResponseWriter(version, log)
  const openAnswers = createOpenResponses()
  let document: unknown
  const service: RequestServices = {
    clientOf(x) {
      x.client ??= readClient(x.req)
      return x.client
    },
    describeApi() {
      document ??= createOpenApiDocument(routes, patternRoutes, version)
      return document
    },
  }
  const { clientOf } = service

  /** Names that could be somebody else's are answered only behind a password. */
  const checkHost = (x: Exchange) => {
    const { req } = x
    const { host } = req.headers
    if (host === undefined) {
      if (req.httpVersionMinor > 0) throw invalid('The Host header is missing')
      return
    }
    const isKnown =
      isKnownHost(host) &&
      (req.headers['x-forwarded-host'] === undefined || isKnownHost(clientOf(x).host))
    if (!isKnown && !authenticator.isRequired()) throw forbidden(UNKNOWN_HOST)
  }

  /** What decides or changes something is for people: the agent would otherwise approve its own commands. */
  const checkCaller = ({ req }: Exchange) => {
    if (options.isOwnChild?.(req.socket)) throw forbidden(FROM_CHILD)
  }

  /** True when the caller may pass; false when it should go and sign in first. Refuses otherwise. */
  const admit = (x: Exchange, endpoint: AnyEndpoint | undefined): boolean => {
    if (
      endpoint?.public ||
      !authenticator.isRequired() ||
      authenticator.isAuthenticated(cookiesOf(x))
    )
      return true
    const isPage = endpoint ? endpoint.page : !isApi(x.path)
    if (isPage && (x.method === 'GET' || x.method === 'HEAD')) return false
    throw unauthorized('Authentication required')
  }

  const endpointOf = (found: RouteMatch | undefined, method: string): AnyEndpoint | undefined => {
    if (!found) return undefined
    if (method === 'HEAD') return found.entry.GET?.effects ? undefined : found.entry.GET
    return isMethod(method) ? found.entry[method] : undefined
  }

  const signIn = (x: Exchange) => {
    const { prefix, secure } = clientOf(x)
    const query = x.queryText === '' ? '' : `?${x.queryText}`
    // Only pages that exist are worth coming back to.
    if (x.endpoint?.page && x.method === 'GET')
      x.headers.push('Set-Cookie', returnToCookie(`${x.path}${query}`, { prefix, secure }))
    return redirect(`${prefix}/login`)
  }

  /** A wrong method is told apart from an unknown path only to those who may know. */
  const refuseUnknown = (x: Exchange, found: RouteMatch | undefined) => {
    const { GET, POST } = found?.entry ?? {}
    if (!admit(x, GET?.public ? GET : POST?.public ? POST : (GET ?? POST))) return signIn(x)
    if (!found || ((GET ?? POST)?.loopback && !clientOf(x).loopback)) throw notFound()
    return reply(
      { error: `${x.method} is not allowed here` },
      { status: 405, headers: { Allow: found.entry.allow }, cache: 'no-store' },
    )
  }

  const run = (x: Exchange, endpoint: AnyEndpoint, input: unknown): unknown =>
    endpoint.run(makeCtx(new BaseCtx(x, service)), input as never)

  const call = (x: Exchange, endpoint: AnyEndpoint, found: RouteMatch): unknown => {
    const { req, method, queryText } = x
    if (!admit(x, endpoint)) return signIn(x)
    const isReading = method === 'GET' || method === 'HEAD'
    if (!isReading || endpoint.effects) {
      checkOrigin(req, clientOf(x), config.allowedOrigins)
      checkCaller(x)
    } else if (isApi(x.path) && isCrossSite(req)) {
      // Pages may be linked to; what the API answers is for our own pages, also without a password.
      checkOrigin(req, clientOf(x), config.allowedOrigins)
    }
    if (!isReading) {
      if (endpoint.multipart) {
        if (declaredBytes(req) > MAX_BODY_BYTES) throw bodyTooLarge()
        return run(x, endpoint, {})
      }
      return readJson(req, bodyIdleMs).then(body => {
        // A slow body outlives a sign-in, or the time without a password.
        admit(x, endpoint)
        return run(
          x,
          endpoint,
          endpoint.input ? parseInput(endpoint.input, withOpen(body, found)) : {},
        )
      })
    }
    if (!endpoint.input) return run(x, endpoint, {})
    return run(x, endpoint, parseInput(endpoint.input, withOpen(parseQuery(queryText), found)))
  }

  const answer = (x: Exchange): unknown => {
    checkHost(x)
    const found = find(x.path)
    const endpoint = endpointOf(found, x.method)
    if (!endpoint || !found) return refuseUnknown(x, found)
    x.endpoint = endpoint
    if (endpoint.loopback && !clientOf(x).loopback) throw notFound()
    const ready = endpoint.public ? undefined : authenticator.ready?.()
    return ready ? ready.then(() => call(x, endpoint, found)) : call(x, endpoint, found)
  }

  const finish = (x: Exchange, value: unknown): void | Promise<void> => {
    const { endpoint } = x
    if (options.checkOutput && endpoint) checkOutput(endpoint, value, `${x.method} ${x.path}`)
    return writer.answer(
      x,
      value,
      endpoint?.cache ?? (x.method === 'GET' || x.method === 'HEAD' ? 'no-cache' : 'no-store'),
    )
  }

  return (req, res) => {
    const { path, queryText } = splitUrl(req.url ?? '/')
    const x: Exchange = {
      req,
      res,
      method: req.method ?? 'GET',
      path,
      queryText,
      startedMs: performance.now(),
      headers: [],
      nonce: undefined,
      cookies: undefined,
      client: undefined,
      endpoint: undefined,
    }
    const refuse = (error: unknown) => writer.sendError(x, error)
    try {
      const value = answer(x)
      // Answers that are there already are written in this very turn of the loop.
      const written = isThenable(value) ? value.then(ready => finish(x, ready)) : finish(x, value)
      if (written instanceof Promise) written.catch(refuse)
      // An answer that fit into the socket's buffer is over.
      const isOver = !(written instanceof Promise) && (res.socket?.writableLength ?? 0) === 0
      if (!isOver && x.endpoint && !x.endpoint.public)
        openAnswers.watch(
          res,
          () => !authenticator.isRequired() || authenticator.isAuthenticated(cookiesOf(x)),
        )
    } catch (error) {
      refuse(error)
    }
  }
}
