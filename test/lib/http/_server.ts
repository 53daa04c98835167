/** A small service over real HTTP for the tests of the plumbing: a route table, a gate, and everything that was logged. */
import { once } from 'node:events'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { systemClock } from '../../../lib/base/clock.ts'
import { endpointFor, type RouteTable } from '../../../lib/http/endpoint.ts'
import type { Authenticator } from '../../../lib/http/access.ts'
import { BaseCtx, RequestListener, type ListenerOptions } from '../../../lib/http/http.ts'
import { createServer, type ServerLimits } from '../../../lib/http/server.ts'

export type TestCtx = BaseCtx & { app: { word: string } }
export const endpoint = endpointFor<TestCtx>()

const OPEN: Authenticator = {
  isRequired: () => false,
  personOf: () => undefined,
  may: () => true,
}

export type Logged = { method: string; path: string; status: number }

export type TestServer = Awaited<ReturnType<typeof openServer>>

export const openServer = async (
  routes: RouteTable,
  {
    limits = {},
    ...options
  }: Partial<ListenerOptions<TestCtx>> & { limits?: Partial<ServerLimits> } = {},
) => {
  const requests: Logged[] = []
  const errors: unknown[] = []
  const { listen: listener } = new RequestListener<TestCtx>(routes, {
    clock: systemClock,
    authenticator: OPEN,
    makeCtx: (...base) => Object.assign(new BaseCtx(...base), { app: { word: 'hello' } }),
    config: { host: '127.0.0.1', allowedOrigins: [], trustedProxies: ['127.0.0.0/8', '::1'] },
    log: {
      request: ({ method, path, status }) => requests.push({ method, path, status }),
      error: (_what, error) => errors.push(error),
    },
    version: 'v1.2.3',
    checkOutput: true,
    ...options,
  })
  const server = createServer(listener, { version: 'v1.2.3', limits })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const open = async (): Promise<Socket> => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {
      // A cut connection is what several tests are about.
    })
    await once(socket, 'connect')
    return socket
  }
  return {
    url,
    port,
    server,
    requests,
    errors,
    open,
    get: (path: string, headers: Record<string, string> = {}) =>
      fetch(url + path, { headers, redirect: 'manual' }),
    post: (path: string, body: unknown, headers: Record<string, string> = {}) =>
      fetch(url + path, {
        method: 'POST',
        headers,
        body:
          typeof body === 'string' || body instanceof Uint8Array
            ? (body as BodyInit)
            : JSON.stringify(body),
        redirect: 'manual',
      }),
    /** Sends text as it is and reads until the other side closes. */
    async raw(text: string, { end = false } = {}): Promise<string> {
      const socket = await open()
      let answer = ''
      socket.setEncoding('latin1')
      socket.on('data', chunk => {
        answer += chunk
      })
      if (end) socket.end(text)
      else socket.write(text)
      if (!socket.closed) await once(socket, 'close')
      return answer
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const SECURITY = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'same-origin',
  server: 'agent-webui/1.2.3',
} as const

/** What is missing of the headers every answer carries. */
export const missingHeaders = (headers: Headers): string[] => [
  ...Object.entries(SECURITY)
    .filter(([name, value]) => headers.get(name) !== value)
    .map(([name]) => name),
  ...(/default-src 'self'.*frame-ancestors 'none'; require-trusted-types-for 'script'/.test(
    headers.get('content-security-policy') ?? '',
  )
    ? []
    : ['content-security-policy']),
]

/** The same for an answer as text. */
export const headersOf = (answer: string): Headers =>
  new Headers(
    answer
      .split('\r\n\r\n', 1)[0]!
      .split('\r\n')
      .slice(1)
      .map(line => line.split(/:\s*(.*)/).slice(0, 2) as [string, string]),
  )
