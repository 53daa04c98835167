/**
 * Forwards requests to the process that serves a cell now. Bytes are piped with backpressure, event streams included.
 *
 * A request that may have reached its process is not sent again, except a GET or HEAD without a body and without an answer,
 * once: a repeated POST could do its work twice. One whose connection could not be opened was never sent, so it waits for the next owner.
 */
import {
  Agent,
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
  request as requestHttp,
  type ServerResponse,
} from 'node:http'
import { Agent as TlsAgent, request as requestHttps } from 'node:https'
import { pipeline } from 'node:stream/promises'
import { type Clock, every } from '../base/clock.ts'
import { messageOf, UserError, unavailable } from '../errors.ts'
import type { Client } from './client-address.ts'
import { TAKEOVER_MS } from '../base/cluster-settings.ts'
import { toErrorReply } from './error-reply.ts'
import {
  answerHeaders,
  hasBody,
  requestHeaders,
  type Route,
  type Target,
} from './forwarded-headers.ts'
import { securityHeaders } from './headers.ts'
import type { Listener } from './http.ts'

/** Why no process serves a cell yet. */
export type Waiting = 'starting' | 'full' | 'none' | 'unmanaged'

/** How a request ended: it was answered, it was for no cell, no process could be reached, or the connection broke before the answer. */
export type Forwarded = 'answered' | 'refused' | 'unavailable' | 'broken'

/** Status of that rejection (RFC 9110 §15.5.20). */
const MISDIRECTED = 421

const POLL_MS = 50
/** An owner is looked up again after this time. */
const KNOWN_MS = 1_000
const CONNECT_MS = 3_000
const ASK_MS = 1_000
/** A full cluster may have capacity in a moment, when a cell ends. */
const FULL_MS = 3_000
const LOOK_MS = 5_000

const NO_OWNER: Readonly<Record<Waiting, string>> = {
  unmanaged:
    'No process serves this at the moment. The next one is usually there within seconds; try again.',
  starting: 'This is being started, which takes longer than usual. Try again in a moment.',
  full: 'All workers are full at the moment. Try again in a few minutes, or ask the administrator for another worker.',
  none: 'No worker that may run this is there at the moment. Try again, or tell the administrator.',
}
const BROKEN =
  'The connection to the service broke before it answered. It may have done what you asked for: check before you send it again.'

const notServed = (waiting: Waiting): UserError =>
  unavailable(NO_OWNER[waiting], {
    waiting,
    code: waiting === 'full' ? 'workers_full' : 'server_starting',
  })

/** Thrown when no byte of the request was sent. */
class NotSent extends Error {}

/** Without a body, which is there once. */
const isRepeatable = (req: IncomingMessage): boolean =>
  (req.method === 'GET' || req.method === 'HEAD') && !hasBody(req)

/** An agent per protocol. Only requests that may be repeated use a kept connection, which may just be closing. */
class Requests {
  readonly #agents = {
    http: new Agent({ keepAlive: true }),
    https: new TlsAgent({ keepAlive: true }),
  }

  open(target: URL, options: RequestOptions, mayKeep: boolean): ClientRequest {
    const isTls = target.protocol === 'https:'
    const agent = mayKeep ? (isTls ? this.#agents.https : this.#agents.http) : false
    return (isTls ? requestHttps : requestHttp)(target, { ...options, agent })
  }

  close(): void {
    this.#agents.http.destroy()
    this.#agents.https.destroy()
  }
}

/** Resolves when bytes can be sent; rejects with `NotSent` when the connection cannot be opened. */
const connected = (upstream: ClientRequest): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = setTimeout(() => upstream.destroy(new Error('no answer')), CONNECT_MS)
    const fail = (error: Error) => {
      clearTimeout(timer)
      reject(new NotSent(messageOf(error)))
    }
    upstream.once('error', fail)
    upstream.once('socket', socket => {
      const done = () => {
        clearTimeout(timer)
        upstream.off('error', fail)
        resolve()
      }
      if (socket.connecting) socket.once('encrypted' in socket ? 'secureConnect' : 'connect', done)
      else done()
    })
  })

const answerOf = (upstream: ClientRequest): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    upstream.once('response', resolve)
    upstream.once('error', reject)
    upstream.once('close', () => reject(new Error('the connection was closed')))
  })

const writeError = (
  res: ServerResponse,
  version: string,
  { status, error, code }: { status: number; error: string; code: string },
): void => {
  if (res.headersSent) return void res.destroy()
  const headers = [...securityHeaders(version), 'Cache-Control', 'no-store']
  if (status === 503) headers.push('Retry-After', '2')
  res.writeHead(status, [...headers, 'Content-Type', 'application/json; charset=utf-8'])
  res.end(JSON.stringify({ error, code }))
}

/** The result of `load`, which is called once at a time for each key, and again after `keepMs` or `forget`. */
export const shared = <T>(
  clock: Clock,
  load: (key: string) => Promise<T>,
  keepMs: (value: T) => number,
) => {
  const entries = new Map<string, { value: Promise<T>; until: number }>()
  return {
    get(key: string): Promise<T> {
      const cached = entries.get(key)
      if (cached && clock.monotonic() < cached.until) return cached.value
      const value = load(key)
      const entry = { value, until: Number.POSITIVE_INFINITY }
      entries.set(key, entry)
      const end = (ms: number) => {
        entry.until = clock.monotonic() + ms
        if (ms === 0 && entries.get(key) === entry) entries.delete(key)
      }
      value.then(
        result => end(keepMs(result)),
        () => end(0),
      )
      return value
    },
    forget: (key: string): void => void entries.delete(key),
  }
}

export class Forwarder {
  readonly #options
  readonly #waitMs: number
  readonly #requests = new Requests()
  /** Requests that wait for an owner's answer, or read it. */
  readonly #upstreams = new Set<{ cell: string; epoch: number; upstream: ClientRequest }>()
  readonly #owners
  readonly #waits
  readonly #open = new Map<ServerResponse, Route>()
  #isAway = false
  #isLooking = false
  readonly #stopLooks

  constructor(options: {
    clock: Clock
    version: string
    /** Throws a `UserError` for a request that is for no cell; null: it was answered. Any other error is repeated. */
    routeOf: (req: IncomingMessage, res: ServerResponse) => Promise<Route | null>
    /** Whether the person may still use the cell; asked again while a response is open. */
    isAllowed: (route: Route) => Promise<boolean>
    /** The process that serves it; null when there is none at the moment. */
    ownerOf: (cell: string) => Promise<Target | null>
    /** Asks for a process that serves it. */
    ask: (cell: string) => Promise<Waiting>
    clientOf: (req: IncomingMessage) => Client
    /** Answers with a page for a person where it can; false where a program wants JSON. */
    refuse?: (req: IncomingMessage, res: ServerResponse, error: UserError) => Promise<boolean>
    log: { warn(text: string): void; error(text: string, error?: unknown): void }
    /** Called once for each request that was for a cell. */
    onForwarded?: ((how: Forwarded) => void) | undefined
    /** How long a request waits for an owner. */
    waitMs?: number | undefined
    /** How often it looks whether those who were asked are still the owners, and those who read may still do so. */
    lookMs?: number | undefined
  }) {
    this.#options = options
    const { clock, ownerOf, ask, waitMs = TAKEOVER_MS, lookMs = LOOK_MS } = options
    this.#waitMs = waitMs
    this.#owners = shared(clock, ownerOf, target => (target ? KNOWN_MS : 0))
    this.#waits = shared(clock, ask, () => ASK_MS)
    this.#stopLooks = every(clock, lookMs, () => {
      if (!this.#isLooking) void this.#look()
    })
  }

  readonly listener: Listener = (req, res) => void this.#forward(req, res)

  close(): void {
    this.#stopLooks()
    this.#requests.close()
  }

  /** Waits for a database that does not answer. */
  async #patiently<T>(work: () => Promise<T>, until: number): Promise<T> {
    for (;;) {
      try {
        const result = await work()
        this.#isAway = false
        return result
      } catch (error) {
        if (error instanceof UserError) throw error
        // Once, not for each request and try.
        if (!this.#isAway)
          this.#options.log.warn(`The database of the cluster does not answer: ${messageOf(error)}`)
        this.#isAway = true
        if (this.#options.clock.monotonic() > until) throw notServed('unmanaged')
        await this.#options.clock.delay(POLL_MS)
      }
    }
  }

  async #waitForOwner(cell: string, res: ServerResponse, until: number): Promise<Target> {
    const fullUntil = this.#options.clock.monotonic() + FULL_MS
    for (;;) {
      const target = await this.#patiently(() => this.#owners.get(cell), until)
      if (target) return target
      const waiting = await this.#patiently(() => this.#waits.get(cell), until)
      const end = waiting === 'full' ? Math.min(until, fullUntil) : until
      if (this.#options.clock.monotonic() > end || res.destroyed) throw notServed(waiting)
      await this.#options.clock.delay(POLL_MS)
    }
  }

  /** One attempt. Resolves with the answer, whose body is not read yet. */
  async #send(
    req: IncomingMessage,
    res: ServerResponse,
    { route, target }: { route: Route; target: Target },
  ): Promise<IncomingMessage> {
    const upstream = this.#requests.open(
      new URL(target.address),
      {
        method: req.method ?? 'GET',
        path: route.url,
        headers: requestHeaders(req, this.#options.clientOf(req), { route, target }),
        setHost: false,
      },
      isRepeatable(req),
    )
    const entry = { cell: route.cell, epoch: target.epoch, upstream }
    this.#upstreams.add(entry)
    const onGone = () => void upstream.destroy()
    res.once('close', onGone)
    upstream.once('close', () => {
      res.off('close', onGone)
      this.#upstreams.delete(entry)
    })
    await connected(upstream)
    const answer = answerOf(upstream)
    // An early answer, such as a 413, ends the body; the answer decides.
    if (hasBody(req)) pipeline(req, upstream).catch(() => undefined)
    else upstream.end()
    return answer
  }

  async #answered(
    req: IncomingMessage,
    res: ServerResponse,
    { route, until }: { route: Route; until: number },
  ): Promise<IncomingMessage | null> {
    const { cell } = route
    let broken = 0
    for (;;) {
      const target = await this.#waitForOwner(cell, res, until)
      try {
        const answer = await this.#send(req, res, { route, target })
        // Rejected unread by a process that serves another cell.
        if (answer.statusCode !== MISDIRECTED) return answer
        answer.resume()
        // Its body is on the way, so only the browser can send it again.
        if (hasBody(req)) throw notServed('starting')
      } catch (error) {
        if (res.destroyed) return null
        if (error instanceof UserError) throw error
        if (!(error instanceof NotSent)) broken += 1
        if (broken > (isRepeatable(req) ? 1 : 0)) {
          this.#options.onForwarded?.('broken')
          this.#options.log.warn(`${req.method} to the owner of ${cell} broke: ${messageOf(error)}`)
          writeError(res, this.#options.version, {
            status: 502,
            error: BROKEN,
            code: 'bad_gateway',
          })
          return null
        }
      }
      this.#owners.forget(cell)
      // Its owner may have been killed, which the database knows before its last sign of life is old.
      const waiting = await this.#patiently(() => this.#waits.get(cell), until)
      if (this.#options.clock.monotonic() > until) throw notServed(waiting)
      await this.#options.clock.delay(POLL_MS)
    }
  }

  async #pass(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const until = this.#options.clock.monotonic() + this.#waitMs
    const route = await this.#patiently(() => this.#options.routeOf(req, res), until)
    if (!route) return
    const answer = await this.#answered(req, res, { route, until })
    if (!answer) return
    this.#options.onForwarded?.('answered')
    this.#open.set(res, route)
    res.once('close', () => this.#open.delete(res))
    res.writeHead(answer.statusCode ?? 502, answerHeaders(answer, route))
    // An event stream may be silent for a while, and its reader waits for the head.
    res.flushHeaders()
    await pipeline(answer, res)
  }

  async #forward(req: IncomingMessage, res: ServerResponse): Promise<void> {
    try {
      await this.#pass(req, res)
    } catch (error) {
      if (error instanceof UserError)
        this.#options.onForwarded?.(error.kind === 'unavailable' ? 'unavailable' : 'refused')
      if (res.destroyed) return
      if (!(error instanceof UserError) && !res.headersSent)
        this.#options.log.error('forwarding', error)
      if (
        error instanceof UserError &&
        !res.headersSent &&
        (await this.#options.refuse?.(req, res, error).catch(() => false))
      )
        return
      const { status, body } = toErrorReply(error)
      writeError(res, this.#options.version, { status, error: body.error, code: body.code })
    }
  }

  /** Without an answer of the database, the next look decides. */
  async #look(): Promise<void> {
    const { ownerOf, isAllowed } = this.#options
    this.#isLooking = true
    // Another process owns the cell: a machine whose network is gone never closes a connection, and says nothing any more.
    for (const cell of new Set([...this.#upstreams].map(each => each.cell))) {
      const owner = await ownerOf(cell).catch(() => null)
      for (const each of this.#upstreams)
        if (owner && each.cell === cell && each.epoch < owner.epoch)
          each.upstream.destroy(new Error('another process serves this now'))
    }
    // What someone reads who may not use the cell any more; the owner ends it soon as well.
    for (const [res, route] of this.#open)
      if (!(await isAllowed(route).catch(() => true))) res.destroy()
    this.#isLooking = false
  }
}
