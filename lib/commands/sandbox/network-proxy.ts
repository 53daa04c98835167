/** The network of one command in a sandbox: an HTTP and SOCKS5 proxy on one socket. */
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request,
  type ServerResponse,
} from 'node:http'
import type { ListenOptions, Socket } from 'node:net'
import { pipeline } from 'node:stream'
import type { NetworkTarget } from '../../agent/tool-services.ts'
import { messageOf } from '../../errors.ts'
import { createOpener, type OpenerOptions, Refusal } from './network-opener.ts'
import { readSocks, SOCKS, take, toReply } from './network-socks.ts'
import { readTarget } from '../../base/host-pattern.ts'

export type NetworkProxyOptions = Omit<OpenerOptions, 'ended'> & {
  listen: ListenOptions
  /** From the first byte of a client to the end of its request. */
  requestMs?: number
}

const REQUEST_MS = 30_000
/** How long a client that was refused may take to close its end. */
const LINGER_MS = 10_000
/** Per command, like a browser's for all its windows. */
const MAX_CONNECTIONS = 256

/** HTTP headers that are about one connection (RFC 9110, 7.6.1), or for the proxy. */
const HOP_HEADERS =
  /^(?:connection|keep-alive|proxy-.*|te|trailer|transfer-encoding|upgrade|expect|host)$/i

/** The names in `Connection` are about one connection as well. */
const forwarded = ({ rawHeaders, headers }: IncomingMessage, keepsLength: boolean) => {
  const named = new Set((headers.connection ?? '').toLowerCase().split(/\s*,\s*/))
  const kept: OutgoingHttpHeaders = {}
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2)
    if (HOP_HEADERS.test(name) || named.has(name.toLowerCase())) continue
    const before = kept[name]
    kept[name] = before === undefined ? value : [before, value].flat().map(String)
  }
  // The body is sent on in chunks of its own.
  if (keepsLength && headers['transfer-encoding']) kept['Transfer-Encoding'] = 'chunked'
  return kept
}

/** The last words. A client that does not close in time is cut off. */
const endWith = (client: Socket, words: Buffer | string): void => {
  client.setTimeout(LINGER_MS, () => client.destroy())
  client.end(words)
  client.resume()
}

/** Both ways, each until its own end; an error of one side ends both. */
const join = (one: Socket, other: Socket): void => {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const) {
    from.on('error', () => to.destroy()).on('close', () => from.readableEnded || to.destroy())
    from.pipe(to)
  }
}

/** Another error is that the command has ended, or settings that cannot be used. */
const toRefusal = (error: unknown): Refusal =>
  error instanceof Refusal ? error : new Refusal(messageOf(error), 502, 1)

/** The sentence is the reason as well: many clients show only that. */
const asText = ({ status, message }: Refusal): string =>
  `HTTP/1.1 ${status} ${message.replace(/[^\x20-\x7e]/g, '?')}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: ${Buffer.byteLength(message) + 1}\r\nConnection: close\r\n\r\n${message}\n`

export type NetworkProxy = {
  /** Of a proxy that listens on a port. */
  port: number | null
  close: () => void
}

export const openNetworkProxy = async ({
  listen,
  requestMs = REQUEST_MS,
  ...given
}: NetworkProxyOptions): Promise<NetworkProxy> => {
  const sockets = new Set<Socket>()
  const ended = new AbortController()
  const opener = createOpener({ ...given, ended: ended.signal })

  const track = (socket: Socket): Socket => {
    sockets.add(socket)
    return socket.once('close', () => sockets.delete(socket)).on('error', () => undefined)
  }

  const open = async (target: NetworkTarget): Promise<Socket> => {
    const socket = track(await opener(target))
    // It may have ended while it connected.
    if (ended.signal.aborted) socket.destroy()
    return socket
  }

  /** `connected` and `refused` are what the client is told. */
  const tunnel = async (
    client: Socket,
    target: NetworkTarget,
    {
      head,
      connected,
      refused,
    }: {
      head?: Buffer
      connected: Buffer | string
      refused: (refusal: Refusal) => Buffer | string
    },
  ): Promise<void> => {
    try {
      const server = await open(target)
      if (client.destroyed) return void server.destroy()
      client.write(connected)
      if (head?.length) server.write(head)
      join(client, server)
    } catch (error) {
      endWith(client, refused(toRefusal(error)))
    }
  }

  const onSocks = async (client: Socket): Promise<void> => {
    const timer = setTimeout(() => client.destroy(), requestMs)
    const refused = ({ reply }: Refusal) => toReply(reply)
    try {
      const target = await readSocks(client)
      clearTimeout(timer)
      await tunnel(client, target, { connected: toReply(0), refused })
    } catch (error) {
      endWith(client, error instanceof Refusal ? refused(error) : '')
    } finally {
      clearTimeout(timer)
    }
  }

  const onConnect = (asked: IncomingMessage, client: Socket, head: Buffer): void => {
    client.on('error', () => undefined)
    const target = readTarget(asked.url ?? '')
    if (!target) {
      endWith(client, asText(new Refusal('This is no host and port.', 400, 1)))
      return
    }
    const connected = 'HTTP/1.1 200 Connection established\r\n\r\n'
    void tunnel(client, target, { head, connected, refused: asText })
  }

  const onRequest = async (asked: IncomingMessage, answer: ServerResponse): Promise<void> => {
    const refuse = ({ status, message }: Refusal): void => {
      if (answer.headersSent) return void answer.destroy()
      const headers = { 'content-type': 'text/plain; charset=utf-8', connection: 'close' }
      answer.writeHead(status, headers).end(`${message}\n`)
    }
    const url = URL.canParse(asked.url ?? '') ? new URL(asked.url ?? '') : null
    const target =
      url?.protocol === 'http:' ? readTarget(`${url.hostname}:${url.port || 80}`) : null
    if (!url || !target)
      return refuse(new Refusal('This is a proxy: ask it for an http:// address.', 400, 1))
    try {
      const socket = await open(target)
      if (asked.destroyed) return void socket.destroy()
      const sent = request({
        createConnection: () => socket,
        method: asked.method,
        path: url.pathname + url.search,
        headers: { ...forwarded(asked, true), Host: url.host, Connection: 'close' },
      })
      sent.once('response', received => {
        answer.writeHead(
          received.statusCode ?? 502,
          received.statusMessage,
          forwarded(received, false),
        )
        pipeline(received, answer, error => error && socket.destroy())
      })
      sent.on('error', () => refuse(new Refusal(`${target.host} did not answer.`, 502, 1)))
      pipeline(asked, sent, error => error && socket.destroy())
    } catch (error) {
      refuse(toRefusal(error))
    }
  }

  const server = createServer({
    headersTimeout: requestMs,
    requestTimeout: 0,
    connectionsCheckingInterval: Math.min(requestMs, 10_000),
  })
  server.maxConnections = MAX_CONNECTIONS
  server.on('connect', (asked, client, head) => onConnect(asked, client as Socket, head))
  server.on('request', (asked, answer) => void onRequest(asked, answer))
  server.on('clientError', (_, client) => client.destroy())
  // The first byte says which protocol it is.
  const [speakHttp] = server.listeners('connection')
  server.removeAllListeners('connection')
  server.on('connection', (client: Socket) => {
    track(client)
    const timer = setTimeout(() => client.destroy(), requestMs)
    take(client, 1)
      .finally(() => clearTimeout(timer))
      .then(
        first => {
          if (first[0] === SOCKS) return void onSocks(client)
          client.unshift(first)
          speakHttp?.call(server, client)
        },
        () => client.destroy(),
      )
  })
  await new Promise<void>((listening, fail) => {
    server.once('error', fail)
    server.listen(listen, listening)
  })
  const address = server.address()
  return {
    port: typeof address === 'object' && address ? address.port : null,
    close() {
      ended.abort(new Error('The command has ended.'))
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
