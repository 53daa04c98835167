/** Writes responses: JSON, bytes, streams, files and errors. The only code that turns what an endpoint returns or throws into a response; event streams are written by `sse.ts`. */
import { pipeline } from 'node:stream/promises'
import { UserError } from '../errors.ts'
import { ClientDisconnected, declaredBytes, hasBody } from './body.ts'
import { toErrorReply } from './error-reply.ts'
import { etagOf, isNotModified } from './etag.ts'
import { openFile, parseRange } from './file.ts'
import { contentPolicy, securityHeaders } from './headers.ts'
import { type Chunk, type FileSource, isDescribed, JSON_TYPE, type ReplyOptions } from './reply.ts'
import { maskLeaving, maskLeavingBytes } from '../base/redact/redact.ts'
import type { Exchange } from './request-context.ts'
import { isMethod } from './routes.ts'
import { writePushed, writeStream } from './sse.ts'

/** The part of the log that this module uses. */
export type RequestLog = {
  request(finished: {
    method: string
    path: string
    status: number
    ms: number
    isQuiet: boolean
  }): void
  error(what: string, error: unknown): void
  warn?(text: string): void
}

export type CountedRequest = {
  /** `other` for a method that no route has. */
  method: string
  /** Of the route table; `none` for a path that is not in it. */
  route: string
  status: number
  seconds: number
  /** Of unknown length: event streams last as long as their reader wants. */
  isStream: boolean
}

/**
 * What a response waits for before its next bytes: that what it shows is kept. Null: nothing. Rejects with a `UserError`, or
 * with another error when nothing may be sent any more.
 */
export type ResponseHold = (isStream: boolean) => Promise<void> | null

type OnRequest = ((finished: CountedRequest) => void) | undefined

/** An unread request body up to this size is drained to keep the connection; beyond it the connection is closed. */
const MAX_DRAINED_BYTES = 64 * 1024
/** How long a client has to read a response before a connection with an unread body is closed. */
const LINGER_MS = 300

/** Node sends a text together with the head, in one piece. Converting more bytes than this to a text costs more than sending a second piece. */
const MAX_JOINED_BYTES = 4 * 1024
/** Copying a longer text costs more than a second piece. */
const MAX_JOINED_CHARS = 64 * 1024

type Data = Chunk | readonly Buffer[]
type Head = ReplyOptions & { cache: string; type?: string | undefined }

const isChunk = (data: Data): data is Chunk => typeof data === 'string' || Buffer.isBuffer(data)

const byteLength = (data: Data): number => {
  if (typeof data === 'string') return Buffer.byteLength(data)
  return isChunk(data) ? data.length : data.reduce((sum, chunk) => sum + chunk.length, 0)
}

/** Types of text. Images, archives and the like are sent as they are. */
const TEXT = /^(?:text\/|application\/(?:[\w.+-]*json|javascript)\b)/

const isBuffers = (data: Data): data is readonly Buffer[] => !isChunk(data)

/** The one place where a known secret is masked in what is sent, whoever has made it. */
const maskedData = (data: Data): Data => {
  if (typeof data === 'string') return maskLeaving(data)
  if (!isBuffers(data)) return maskLeavingBytes(data)
  const chunks = data.map(maskLeavingBytes)
  return chunks.every((chunk, at) => chunk === data[at]) ? data : chunks
}

const isMasked = ({ endpoint }: Exchange, { type = '' }: Head): boolean =>
  endpoint?.exact !== true && TEXT.test(type)

async function* maskedChunks(source: AsyncIterable<Chunk>): AsyncGenerator<Chunk> {
  for await (const chunk of source)
    yield typeof chunk === 'string' ? maskLeaving(chunk) : maskLeavingBytes(chunk)
}

/** One character per byte. */
const latin1 = (data: Buffer | readonly Buffer[]): string =>
  Buffer.isBuffer(data)
    ? data.toString('latin1')
    : data.map(chunk => chunk.toString('latin1')).join('')

/** Anyone who knows the address of a shared chat can read it, so the log does not contain it. */
const loggedPath = (path: string): string => path.replace(/\/share\/.*/s, '/share/…')

const hasUnreadBody = ({ req }: Exchange): boolean =>
  !req.complete &&
  hasBody(req) &&
  (req.headers['transfer-encoding'] !== undefined || declaredBytes(req) > MAX_DRAINED_BYTES)

/** Sends the head at once and ends later: closing now would discard what the client has not read yet. */
const endWithUnreadBody = ({ res }: Exchange, status: number, head: string[], data: Data): void => {
  res.writeHead(status, [...head, 'Connection', 'close'])
  res.flushHeaders()
  for (const chunk of isChunk(data) ? [data] : data) if (chunk.length > 0) res.write(chunk)
  const timer = setTimeout(() => res.end(), LINGER_MS)
  res.once('close', () => clearTimeout(timer))
}

export class ResponseWriter {
  readonly #version: string
  readonly #log: RequestLog
  readonly #onRequest: OnRequest
  readonly #hold: ResponseHold | undefined
  readonly #securityHeaders: readonly string[]

  constructor(version: string, log: RequestLog, onRequest?: OnRequest, hold?: ResponseHold) {
    this.#hold = hold
    this.#version = version
    this.#log = log
    this.#onRequest = onRequest
    this.#securityHeaders = securityHeaders(version)
  }

  /** Calls `write` when what the response shows is kept; otherwise the connection ends, or the response is an error. */
  whenKept(x: Exchange, write: () => void | Promise<void>): void | Promise<void> {
    // Asked for by programs that watch the service, and nothing that is stored.
    const wait = x.endpoint?.quiet === true ? null : this.#hold?.(false)
    if (!wait) return write()
    return wait.then(write, error => {
      if (!(error instanceof UserError)) x.res.destroy()
      this.#sendError(x, error)
    })
  }

  /** Writes what an endpoint returned; `cache` is the endpoint's `Cache-Control`. Throws before the head is written. */
  send(x: Exchange, value: unknown, cache: string): void | Promise<void> {
    if (!isDescribed(value)) return this.#sendJson(x, value, { cache })
    const head: Head = { ...value, cache: value.cache ?? cache }
    const { body } = value
    switch (body.kind) {
      case 'json':
        return this.#sendJson(x, body.value, head)
      case 'bytes':
        return this.#sendBytes(x, head, isMasked(x, head) ? maskedData(body.data) : body.data)
      case 'stream': {
        const source = isMasked(x, head) ? maskedChunks(body.source) : body.source
        return this.#sendStream(x, head, () => writeStream(x.res, source, this.#hold))
      }
      // Of the hub, which masks each event once for all readers.
      case 'pushed':
        return this.#sendStream(x, head, () => writePushed(x.res, body.source, this.#hold))
      case 'file':
        return this.#sendFile(x, head, body.source)
      case 'none':
        return this.#sendBytes(x, head)
    }
  }

  /** Writes an error reply. What failed may have changed something, and its sentence may name it. */
  fail(x: Exchange, error: unknown): void {
    void this.whenKept(x, () => this.#sendError(x, error))
  }

  /** Errors other than `UserError` are logged and reported with a generic sentence. */
  #sendError(x: Exchange, error: unknown): void {
    const { res } = x
    if (error instanceof ClientDisconnected || res.destroyed) {
      // 499: nginx's status for a client that closed the connection.
      this.#logRequest(x, 499)
      return void res.destroy()
    }
    if (res.headersSent) {
      this.#log.error(`${x.method} ${loggedPath(x.path)}`, error)
      this.#logRequest(x, 500)
      // Flush what was written, then cut the connection, so that no client takes the response for complete.
      return void setImmediate(() => res.destroy())
    }
    // Cookies and headers belong to the response that failed.
    x.headers = []
    x.nonce = undefined
    const { status, body } = toErrorReply(error)
    if (!(error instanceof UserError)) this.#log.error(`${x.method} ${loggedPath(x.path)}`, error)
    const own = x.endpoint?.errorBody?.({ status, body, requestId: x.id }, x.req.headers)
    // What went wrong here is in the log, under this id.
    const ours = status >= 500 ? { ...body, request_id: x.id } : body
    this.#sendJson(x, own?.body ?? ours, {
      cache: 'no-store',
      status,
      ...(own && { headers: own.headers }),
    })
  }

  #logRequest(x: Exchange, status: number, isStream = false): void {
    const ms = performance.now() - x.startedMs
    const { method, endpoint } = x
    const isQuiet = endpoint?.quiet === true
    this.#log.request({ method, path: loggedPath(x.path), status, ms, isQuiet })
    this.#onRequest?.({
      method: isMethod(method) || method === 'HEAD' ? method : 'other',
      route: x.route ?? 'none',
      status,
      seconds: ms / 1_000,
      isStream,
    })
  }

  #head(x: Exchange, { type, etag, cache, policy, referrer, headers }: Head): string[] {
    const head = [
      ...(policy === undefined && x.nonce === undefined
        ? this.#securityHeaders
        : securityHeaders(this.#version, policy ?? contentPolicy(x.nonce), referrer)),
      'X-Request-Id',
      x.id,
      'Cache-Control',
      cache,
      ...x.headers,
    ]
    if (type !== undefined) head.push('Content-Type', type)
    if (etag !== undefined) head.push('ETag', etag)
    if (headers)
      for (const name in headers)
        head.push(name, x.endpoint?.exact ? headers[name]! : maskLeaving(headers[name]!))
    return head
  }

  /** Writes head and body of known length; without `data` the response has no body. */
  #sendBytes(x: Exchange, options: Head, data?: Data): void {
    const { req, res } = x
    let status = options.status ?? 200
    if (status === 200 && isNotModified(req.headers['if-none-match'], options.etag)) status = 304
    const head = this.#head(x, status === 304 ? { ...options, type: undefined } : options)
    const length = data === undefined ? 0 : byteLength(data)
    if (status !== 304 && status !== 204) head.push('Content-Length', String(length))
    const body = data === undefined || status === 304 || x.method === 'HEAD' ? '' : data
    if (hasUnreadBody(x)) {
      endWithUnreadBody(x, status, head, body)
    } else {
      res.writeHead(status, head)
      if (typeof body === 'string') res.end(body)
      else if (length <= MAX_JOINED_BYTES) res.end(latin1(body), 'latin1')
      else if (isChunk(body)) res.end(body)
      else if (body.length === 1) res.end(body[0])
      else {
        res.cork()
        for (const chunk of body) res.write(chunk)
        res.end()
      }
    }
    this.#logRequest(x, status)
  }

  #sendJson(x: Exchange, value: unknown, options: Head): void {
    const json = JSON.stringify(value)
    if (json === undefined) throw new Error('the endpoint returned nothing')
    const isExact = x.endpoint?.exact && (options.status ?? 200) < 400
    const text = isExact ? json : maskLeaving(json)
    const isReading = x.method === 'GET' || x.method === 'HEAD'
    const isCacheable = options.cache === 'no-cache' && (options.status ?? 200) === 200 && isReading
    const etag = options.etag ?? (isCacheable ? etagOf(text) : undefined)
    const data = text.length > MAX_JOINED_CHARS ? Buffer.from(text) : text
    this.#sendBytes(x, { ...options, type: JSON_TYPE, etag }, data)
  }

  async #sendStream(x: Exchange, options: Head, write: () => Promise<void>): Promise<void> {
    const { res } = x
    const status = options.status ?? 200
    const head = this.#head(x, options)
    if (options.closeDelimited) {
      res.removeHeader('Transfer-Encoding')
      head.push('Connection', 'close')
    }
    res.writeHead(status, head)
    if (x.method === 'HEAD') res.end()
    else await write()
    this.#logRequest(x, status, true)
  }

  /** Answers range requests (RFC 9110 §14) and conditional ones. */
  async #sendFile(x: Exchange, options: Head, source: FileSource): Promise<void> {
    const { req, res } = x
    const { handle, size, etag } = await (typeof source === 'string' ? openFile(source) : source())
    try {
      const ifRange = req.headers['if-range']
      const range =
        ifRange === undefined || ifRange === etag ? parseRange(req.headers.range, size) : undefined
      const headers = { ...options.headers, 'Accept-Ranges': 'bytes' }
      if (range === null) {
        return this.#sendJson(
          x,
          {
            error: `The file has ${size} bytes; the range starts beyond its end`,
            code: 'range_not_satisfiable',
          },
          {
            cache: 'no-store',
            status: 416,
            headers: { ...headers, 'Content-Range': `bytes */${size}` },
          },
        )
      }
      if (isNotModified(req.headers['if-none-match'], etag))
        return this.#sendBytes(x, { ...options, etag, headers })
      const { start, end } = range ?? { start: 0, end: size - 1 }
      const head = this.#head(x, { ...options, etag, headers })
      if (range) head.push('Content-Range', `bytes ${start}-${end}/${size}`)
      head.push('Content-Length', String(end - start + 1))
      res.writeHead(range ? 206 : 200, head)
      if (x.method === 'HEAD' || size === 0) res.end()
      else {
        const bytes = handle.createReadStream({ start, end, autoClose: false })
        await pipeline(bytes, res, { end: false })
        // The file was truncated while it was sent: cut the connection, or the client would wait or keep a partial file.
        if (bytes.bytesRead < end - start + 1) res.destroy()
        else res.end()
      }
      this.#logRequest(x, range ? 206 : 200)
    } finally {
      await handle.close()
    }
  }
}
