/**
 * Forwards requests to the process that serves a cell now. Bytes are piped with backpressure, event streams included.
 *
 * A request that may have reached its process is not sent again, except a GET or HEAD without an answer, once: a repeated
 * POST could do its work twice. One whose connection could not be opened was never sent, so it waits for the next owner.
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
import { setTimeout } from 'node:timers/promises'
import { messageOf, UserError, unavailable } from '../errors.ts'
import type { Client } from './client-address.ts'
import { toErrorReply } from './error-reply.ts'
import { securityHeaders } from './headers.ts'
import { createOpenUpstreams } from './open-upstreams.ts'
import type { Listener } from './request-listener.ts'

type Target = { address: string; epoch: number }

export type ForwarderOptions = {
  version: string
  /** The cell of a request. Throws a `UserError` for one that has none. */
  cellOf: (req: IncomingMessage) => string
  /** The process that serves it; null when there is none at the moment. */
  ownerOf: (cell: string) => Promise<Target | null>
  clientOf: (req: IncomingMessage) => Client
  log: { warn(text: string): void; error(text: string, error?: unknown): void }
  /** How long a request waits for an owner. */
  waitMs?: number
  /** How often it looks whether those who were asked are still the owners. */
  lookMs?: number
}

/** Names the cell that a request is for, so that a process that serves another one by now rejects it. */
export const CELL_HEADER = 'x-agent-webui-cell'
/** Status of that rejection (RFC 9110 §15.5.20). */
const MISDIRECTED = 421

const WAIT_MS = 15_000
const POLL_MS = 50
/** An owner is looked up again after this time. */
const KNOWN_MS = 1_000
const CONNECT_MS = 3_000
const LOOK_MS = 5_000

/** RFC 9110 §7.6.1. */
const HOP_BY_HOP =
  /^(?:connection|keep-alive|proxy-authenticate|proxy-authorization|proxy-connection|te|trailer|transfer-encoding|upgrade)$/i
/** Set by us for what is behind us. */
const FORWARDED =
  /^(?:forwarded|via|x-forwarded-(?:for|host|proto|prefix)|x-real-ip|x-agent-webui-cell)$/i

const NO_OWNER =
  'No process serves this at the moment. The next one is usually there within seconds; try again.'
const BROKEN =
  'The connection to the service broke before it answered. It may have done what you asked for: check before you send it again.'

/** Thrown when no byte of the request was sent. */
class NotSent extends Error {}

const forwardedHeaders = (
  { rawHeaders, headers }: IncomingMessage,
  client: Client,
  cell: string,
): string[] => {
  const named = new Set(
    (headers.connection ?? '').split(',').map(name => name.trim().toLowerCase()),
  )
  const kept: string[] = []
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? ''
    if (HOP_BY_HOP.test(name) || FORWARDED.test(name) || named.has(name.toLowerCase())) continue
    kept.push(name, rawHeaders[at + 1] ?? '')
  }
  kept.push('X-Forwarded-For', client.address, 'X-Forwarded-Host', client.host)
  kept.push('X-Forwarded-Proto', client.secure ? 'https' : 'http', CELL_HEADER, cell)
  if (client.prefix !== '') kept.push('X-Forwarded-Prefix', client.prefix)
  // A body of unknown length: Node sends it in chunks again.
  if (headers['transfer-encoding'] !== undefined) kept.push('Transfer-Encoding', 'chunked')
  return kept
}

/** An agent per protocol. Only requests that may be repeated use a kept connection, which may just be closing. */
const createRequests = () => {
  const agents = { http: new Agent({ keepAlive: true }), https: new TlsAgent({ keepAlive: true }) }
  return {
    open(target: URL, options: RequestOptions, isRepeatable: boolean): ClientRequest {
      const isTls = target.protocol === 'https:'
      const agent = isRepeatable ? (isTls ? agents.https : agents.http) : false
      return (isTls ? requestHttps : requestHttp)(target, { ...options, agent })
    },
    close(): void {
      agents.http.destroy()
      agents.https.destroy()
    },
  }
}

/** Resolves when bytes can be sent; rejects with `NotSent` when the connection cannot be opened. */
const connected = (upstream: ClientRequest): Promise<void> =>
  new Promise((resolve, reject) => {
    const timer = globalThis.setTimeout(() => upstream.destroy(new Error('no answer')), CONNECT_MS)
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

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

const writeError = (res: ServerResponse, version: string, status: number, error: string): void => {
  if (res.headersSent) return void res.destroy()
  const headers = [...securityHeaders(version), 'Cache-Control', 'no-store']
  if (status === 503) headers.push('Retry-After', '2')
  res.writeHead(status, [...headers, 'Content-Type', 'application/json; charset=utf-8'])
  res.end(JSON.stringify({ error, code: status === 503 ? 'unavailable' : 'bad_gateway' }))
}

export const createForwarder = (
  options: ForwarderOptions,
): { listener: Listener; close: () => void } => {
  const { version, cellOf, ownerOf, clientOf, log, waitMs = WAIT_MS, lookMs = LOOK_MS } = options
  const requests = createRequests()
  const upstreams = createOpenUpstreams(ownerOf, lookMs)
  const known = new Map<string, { target: Target; until: number }>()

  const lookUp = async (cell: string): Promise<Target | null> => {
    const found = known.get(cell)
    if (found && performance.now() < found.until) return found.target
    const target = await ownerOf(cell)
    if (target) known.set(cell, { target, until: performance.now() + KNOWN_MS })
    else known.delete(cell)
    return target
  }

  /** Waits for an owner other than one that was just found to be gone. */
  const waitForOwner = async (
    cell: string,
    res: ServerResponse,
    until: number,
  ): Promise<Target> => {
    for (;;) {
      const target = await lookUp(cell).catch((error: unknown) => {
        log.warn(`The database of the cluster does not answer: ${messageOf(error)}`)
        return null
      })
      if (target) return target
      if (performance.now() > until || res.destroyed)
        throw unavailable(NO_OWNER, { code: 'server_starting' })
      await setTimeout(POLL_MS)
    }
  }

  /** One attempt. Resolves with the answer, whose body is not read yet. */
  const send = async (
    req: IncomingMessage,
    res: ServerResponse,
    { cell, target }: { cell: string; target: Target },
  ): Promise<IncomingMessage> => {
    const isRepeatable = req.method === 'GET' || req.method === 'HEAD'
    const upstream = requests.open(
      new URL(target.address),
      {
        method: req.method ?? 'GET',
        path: req.url ?? '/',
        headers: forwardedHeaders(req, clientOf(req), cell),
        setHost: false,
      },
      isRepeatable,
    )
    upstreams.add(cell, target.epoch, upstream)
    const onGone = () => void upstream.destroy()
    res.once('close', onGone)
    await connected(upstream)
    const answer = answerOf(upstream)
    // An early answer, such as a 413, ends the body; the answer decides.
    if (hasBody(req)) pipeline(req, upstream).catch(() => undefined)
    else upstream.end()
    return answer
  }

  const isAgain = ({ method }: IncomingMessage, error: unknown): boolean =>
    error instanceof NotSent || method === 'GET' || method === 'HEAD'

  const answered = async (
    req: IncomingMessage,
    res: ServerResponse,
  ): Promise<IncomingMessage | null> => {
    const cell = cellOf(req)
    const until = performance.now() + waitMs
    let broken = 0
    for (;;) {
      const target = await waitForOwner(cell, res, until)
      try {
        const answer = await send(req, res, { cell, target })
        // Rejected unread by a process that serves another cell.
        if (answer.statusCode !== MISDIRECTED || hasBody(req)) return answer
        answer.resume()
      } catch (error) {
        if (res.destroyed) return null
        if (!(error instanceof NotSent)) broken += 1
        if (!isAgain(req, error) || broken > 1) {
          log.warn(`${req.method} to the owner of ${cell} broke: ${messageOf(error)}`)
          writeError(res, version, 502, BROKEN)
          return null
        }
      }
      known.delete(cell)
      if (performance.now() > until) throw unavailable(NO_OWNER, { code: 'server_starting' })
      await setTimeout(POLL_MS)
    }
  }

  const forward = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    try {
      const answer = await answered(req, res)
      if (!answer) return
      const headers = answer.rawHeaders.flatMap((name, at, all) =>
        at % 2 === 0 && !HOP_BY_HOP.test(name) ? [name, all[at + 1] ?? ''] : [],
      )
      res.writeHead(answer.statusCode ?? 502, headers)
      // An event stream may be silent for a while, and its reader waits for the head.
      res.flushHeaders()
      await pipeline(answer, res)
    } catch (error) {
      if (res.destroyed) return
      if (!(error instanceof UserError) && !res.headersSent) log.error('forwarding', error)
      const { status, body } = toErrorReply(error)
      writeError(res, version, status, body.error)
    }
  }

  return {
    listener: (req, res) => void forward(req, res),
    close() {
      upstreams.close()
      requests.close()
    },
  }
}
