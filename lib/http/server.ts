/** Creates the HTTP(S) server: timeouts, and our headers on the errors that Node replies to itself. */
import { createServer as createHttp, type Server, type ServerOptions } from 'node:http'
import { createServer as createHttps } from 'node:https'
import type { Duplex } from 'node:stream'
import { MAX_BODY_BYTES, declaredBytes } from './body.ts'
import { rawResponse } from './headers.ts'
import type { Listener } from './http.ts'

export type Tls = { cert: string | Buffer; key: string | Buffer }

export const MIN_TLS = 'TLSv1.2'

export type ServerLimits = {
  /** Time to receive the headers. */
  headersTimeoutMs: number
  /** Time to receive the whole request; 20 MB at 70 kB/s. */
  requestTimeoutMs: number
  /** Idle time between two requests on one connection. */
  keepAliveTimeoutMs: number
  /** How often the first two are checked. */
  checkEveryMs: number
}

const LIMITS: ServerLimits = {
  headersTimeoutMs: 30_000,
  requestTimeoutMs: 300_000,
  keepAliveTimeoutMs: 30_000,
  checkEveryMs: 5_000,
}

const CLIENT_ERRORS: Readonly<Record<string, [status: string, error: string]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', 'The request headers are too large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: ['413 Payload Too Large', 'The chunk extensions are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'The request took too long to arrive'],
}

/** Sends the response and closes the connection, with time for the client to read it. */
const endWith = (socket: Duplex, text: string) => {
  socket.end(text)
  const timer = setTimeout(() => socket.destroy(), 300)
  socket.once('close', () => clearTimeout(timer))
}

export const createServer = (
  listener: Listener,
  { version, tls, limits = {} }: { version: string; tls?: Tls; limits?: Partial<ServerLimits> },
): Server => {
  const { headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs, checkEveryMs } = {
    ...LIMITS,
    ...limits,
  }
  const options: ServerOptions = {
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    connectionsCheckingInterval: checkEveryMs,
    // Node's own 400 would lack our headers; access.ts checks the header instead.
    requireHostHeader: false,
  }
  const server = tls
    ? createHttps({ ...options, ...tls, minVersion: MIN_TLS }, listener)
    : createHttp(options, listener)
  // A client that half-closed the connection still gets its response. Missing in @types/node.
  Object.assign(server, { httpAllowHalfOpen: true })

  server.on('clientError', (error: NodeJS.ErrnoException, socket) => {
    // Like Node's own handler: part of another response may already have been sent.
    const open = (socket as Duplex & { _httpMessage?: { headersSent: boolean } | null })
      ._httpMessage
    if (!socket.writable || error.code === 'ECONNRESET' || open?.headersSent)
      return void socket.destroy()
    const [status, sentence] = CLIENT_ERRORS[error.code ?? ''] ?? [
      '400 Bad Request',
      'The request is not valid HTTP',
    ]
    endWith(socket, rawResponse(version, status, { error: sentence, code: 'invalid_request' }))
  })
  server.on('connect', (_req, socket) => {
    socket.on('error', () => socket.destroy())
    endWith(
      socket,
      rawResponse(version, '405 Method Not Allowed', {
        error: 'CONNECT is not allowed here',
        code: 'method_not_allowed',
      }),
    )
  })
  server.on('checkContinue', (req, res) => {
    // Do not invite a body that will be rejected.
    if (declaredBytes(req) <= MAX_BODY_BYTES) res.writeContinue()
    listener(req, res)
  })
  // Unknown expectations are ignored.
  server.on('checkExpectation', listener)
  return server
}
