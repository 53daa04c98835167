/** Puts answers on the wire: the only code that touches a response. */
import { dirname } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { UserError, type UserErrorKind } from '../errors.ts'
import type { Exchange } from './request-context.ts'
import { ClientDisconnected, declaredBytes, hasBody } from './body.ts'
import { isNotModified, etagOf } from './etag.ts'
import { openFile, parseRange } from './file.ts'
import { contentPolicy, securityHeaders } from './headers.ts'
import { type FileSource, isDescribed, JSON_TYPE, type ReplyOptions, type Chunk } from './reply.ts'
import { writeStream } from './sse.ts'

/** What the log is told. Structural, so that plumbing needs no neighbour. */
export type RequestLog = {
  request(method: string, path: string, status: number, ms: number): void
  error(what: string, error: unknown): void
}

const STATUS: Readonly<Record<UserErrorKind, number>> = {
  invalid: 400,
  unauthorized: 401,
  forbidden: 403,
  missing: 404,
  method: 405,
  conflict: 409,
  'too-many': 429,
  unavailable: 503,
  full: 507,
}

/** The disk, not the program: worth a sentence even where nobody thought of it. */
const DISK_FULL = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'SQLITE_FULL'])
const diskSentence = (path: string | undefined): string =>
  `The disk is full or cannot be written; nothing was changed${path ? ` in ${dirname(path)}` : ''}`

/** A body larger than this that nobody read is not swallowed to save the connection. */
const MAX_DRAINED_BYTES = 64 * 1024
/** How long the caller has to read a refusal before the connection, its body still in it, is closed. */
const LINGER_MS = 300

type Data = Chunk | readonly Buffer[]
type Head = ReplyOptions & { cache: string; type?: string }

const isPart = (data: Data): data is Chunk => typeof data === 'string' || Buffer.isBuffer(data)

const lengthOf = (data: Data): number => {
  if (typeof data === 'string') return Buffer.byteLength(data)
  return isPart(data) ? data.length : data.reduce((sum, part) => sum + part.length, 0)
}

const isUnread = ({ req }: Exchange): boolean =>
  !req.complete &&
  hasBody(req) &&
  (req.headers['transfer-encoding'] !== undefined || declaredBytes(req) > MAX_DRAINED_BYTES)

export type ResponseWriter = {
  /** Writes what an endpoint answered; `cache` is what the endpoint says of it. */
  answer(x: Exchange, value: unknown, cache: string): void | Promise<void>
  /** Writes a refusal, or a generic sentence for what was never meant for the caller. */
  sendError(x: Exchange, error: unknown): void
}

export const createResponseWriter = (version: string, log: RequestLog): ResponseWriter => {
  const usual = securityHeaders(version)

  const note = (x: Exchange, status: number) =>
    log.request(x.method, x.path, status, performance.now() - x.startedMs)

  const headOf = (x: Exchange, { type, etag, cache, policy, headers }: Head): string[] => {
    const head = [
      ...(policy === undefined && x.nonce === undefined
        ? usual
        : securityHeaders(version, policy ?? contentPolicy(x.nonce))),
      'Cache-Control',
      cache,
      ...x.headers,
    ]
    if (type !== undefined) head.push('Content-Type', type)
    if (etag !== undefined) head.push('ETag', etag)
    if (headers) for (const name in headers) head.push(name, headers[name]!)
    return head
  }

  /** The head must leave at once; closing now would throw away what the caller has not read yet. */
  const endUnread = (x: Exchange, status: number, head: string[], data: Data) => {
    const { res } = x
    res.writeHead(status, [...head, 'Connection', 'close'])
    res.flushHeaders()
    for (const part of isPart(data) ? [data] : data) if (part.length > 0) res.write(part)
    const timer = setTimeout(() => res.end(), LINGER_MS)
    res.once('close', () => clearTimeout(timer))
  }

  /** Writes head and body of known length; no `data` for answers that have no body by nature. */
  const send = (x: Exchange, how: Head, data?: Data) => {
    const { req, res } = x
    let status = how.status ?? 200
    if (status === 200 && isNotModified(req.headers['if-none-match'], how.etag)) status = 304
    const { type: _, ...bare } = how
    const head = headOf(x, status === 304 ? bare : how)
    if (status !== 304 && status !== 204) {
      head.push('Content-Length', String(data === undefined ? 0 : lengthOf(data)))
    }
    const body = data === undefined || status === 304 || x.method === 'HEAD' ? '' : data
    if (isUnread(x)) {
      endUnread(x, status, head, body)
    } else {
      res.writeHead(status, head)
      if (isPart(body)) res.end(body)
      else {
        res.cork()
        for (const part of body) res.write(part)
        res.end()
      }
    }
    note(x, status)
  }

  const sendJson = (x: Exchange, value: unknown, how: Head) => {
    const text = JSON.stringify(value)
    if (text === undefined) throw new Error('the endpoint answered nothing')
    const isReading = x.method === 'GET' || x.method === 'HEAD'
    const isCached = how.cache === 'no-cache' && (how.status ?? 200) === 200 && isReading
    const etag = how.etag ?? (isCached ? etagOf(text) : undefined)
    send(
      x,
      etag === undefined ? { ...how, type: JSON_TYPE } : { ...how, type: JSON_TYPE, etag },
      Buffer.from(text),
    )
  }

  const sendStream = async (x: Exchange, how: Head, source: AsyncIterable<Chunk>) => {
    const { res } = x
    const status = how.status ?? 200
    res.writeHead(status, headOf(x, how))
    if (x.method === 'HEAD') res.end()
    else await writeStream(res, source)
    note(x, status)
  }

  const sendFile = async (x: Exchange, how: Head, source: FileSource) => {
    const { req, res } = x
    const { handle, size, etag } = await (typeof source === 'string' ? openFile(source) : source())
    try {
      const ifRange = req.headers['if-range']
      const range =
        ifRange === undefined || ifRange === etag ? parseRange(req.headers.range, size) : undefined
      const headers = { ...how.headers, 'Accept-Ranges': 'bytes' }
      if (range === null) {
        return sendJson(
          x,
          { error: `The file has ${size} bytes; the range lies behind them` },
          {
            cache: 'no-store',
            status: 416,
            headers: { ...headers, 'Content-Range': `bytes */${size}` },
          },
        )
      }
      if (isNotModified(req.headers['if-none-match'], etag))
        return send(x, { ...how, etag, headers })
      const { start, end } = range ?? { start: 0, end: size - 1 }
      const head = headOf(x, { ...how, etag, headers })
      if (range) head.push('Content-Range', `bytes ${start}-${end}/${size}`)
      head.push('Content-Length', String(end - start + 1))
      res.writeHead(range ? 206 : 200, head)
      if (x.method === 'HEAD' || size === 0) res.end()
      else {
        const bytes = handle.createReadStream({ start, end, autoClose: false })
        await pipeline(bytes, res, { end: false })
        // Cut shorter meanwhile: the reader must not wait for what will not come, nor take it for the whole.
        if (bytes.bytesRead < end - start + 1) res.destroy()
        else res.end()
      }
      note(x, range ? 206 : 200)
    } finally {
      await handle.close()
    }
  }

  return {
    answer(x, value, cache) {
      if (!isDescribed(value)) return sendJson(x, value, { cache })
      const how =
        value.cache === undefined
          ? { ...value, cache }
          : (value as typeof value & { cache: string })
      const { body } = value
      switch (body.kind) {
        case 'json':
          return sendJson(x, body.value, how)
        case 'bytes':
          return send(x, how, body.data)
        case 'stream':
          return sendStream(x, how, body.source)
        case 'file':
          return sendFile(x, how, body.source)
        case 'none':
          return send(x, how)
      }
    },

    sendError(x, error) {
      const { res } = x
      if (error instanceof ClientDisconnected || res.destroyed) {
        // 499 is what proxies write for a caller that did not wait.
        note(x, 499)
        return void res.destroy()
      }
      if (res.headersSent) {
        log.error(`${x.method} ${x.path}`, error)
        note(x, 500)
        // What was written leaves first; then a cut, which no reader can take for an end.
        return void setImmediate(() => res.destroy())
      }
      // Cookies and headers belonged to the answer that did not come about.
      x.headers = []
      x.nonce = undefined
      if (error instanceof UserError) {
        const { kind, message, extra } = error
        return sendJson(
          x,
          { error: message, ...extra },
          { cache: 'no-store', status: STATUS[kind] },
        )
      }
      log.error(`${x.method} ${x.path}`, error)
      const { code, path } = (error ?? {}) as NodeJS.ErrnoException
      const isFull = code !== undefined && DISK_FULL.has(code)
      sendJson(
        x,
        { error: isFull ? diskSentence(path) : 'Internal server error' },
        { cache: 'no-store', status: isFull ? 507 : 500 },
      )
    },
  }
}
