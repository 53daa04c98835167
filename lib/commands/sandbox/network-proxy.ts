/** The network of one command in a sandbox: an HTTP and SOCKS5 proxy on one socket. */
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { ListenOptions, Socket } from 'node:net'
import { pipeline } from 'node:stream'
import type { NetworkTarget } from '../../agent/tool-services.ts'
import { messageOf } from '../../errors.ts'
import { HostConnector, type NetworkRules, Refusal } from './network-opener.ts'
import { readTarget } from '../../base/host-pattern.ts'

/** Reads `size` bytes and leaves the others. Rejects when the client is gone. */
const take = async (socket: Socket, size: number): Promise<Buffer> => {
  // Reading no bytes would wait for some.
  if (size === 0) return Buffer.alloc(0)
  return new Promise((resolve, reject) => {
    const look = () => {
      const bytes: Buffer | null = socket.read(size)
      if (bytes?.length === size) settle(() => resolve(bytes))
      else if (bytes) gone()
    }
    const gone = () => settle(() => reject(new Error('The client is gone.')))
    const settle = (done: () => void) => {
      socket.off('readable', look).off('end', gone).off('close', gone)
      done()
    }
    socket.on('readable', look).on('end', gone).on('close', gone)
    look()
  })
}

const SOCKS = 5
const toReply = (code: number) => Buffer.from([SOCKS, code, 0, 1, 0, 0, 0, 0, 0, 0])

/** The destination that a client asks for, from after its first byte. */
const readSocks = async (socket: Socket): Promise<NetworkTarget> => {
  const methods = await take(socket, (await take(socket, 1)).readUInt8())
  if (!methods.includes(0)) {
    socket.end(Buffer.from([SOCKS, 0xff]))
    throw new Error('The client wants to sign in.')
  }
  socket.write(Buffer.from([SOCKS, 0]))
  const [version, command, , kind] = await take(socket, 4)
  if (version !== SOCKS || command !== 1) throw new Refusal('Only CONNECT is supported.', 405, 7)
  const readHost = async (): Promise<string> => {
    if (kind === 1) return (await take(socket, 4)).join('.')
    if (kind === 4) {
      const bytes = await take(socket, 16)
      return `[${Array.from({ length: 8 }, (_, at) => bytes.readUInt16BE(at * 2).toString(16)).join(':')}]`
    }
    if (kind !== 3) throw new Refusal('This kind of address is not supported.', 400, 8)
    return (await take(socket, (await take(socket, 1)).readUInt8())).toString('latin1')
  }
  const host = await readHost()
  const target = readTarget(`${host}:${(await take(socket, 2)).readUInt16BE()}`)
  if (!target) throw new Refusal('This is no address.', 400, 1)
  return target
}

/** From the first byte of a client to the end of its request. */
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
  const names = new Set((headers.connection ?? '').toLowerCase().split(/\s*,\s*/))
  const copy: OutgoingHttpHeaders = {}
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const [name = '', value = ''] = rawHeaders.slice(at, at + 2)
    if (HOP_HEADERS.test(name) || names.has(name.toLowerCase())) continue
    const before = copy[name]
    copy[name] = before === undefined ? value : [before, value].flat().map(String)
  }
  // The body is sent on in chunks of its own.
  if (keepsLength && headers['transfer-encoding']) copy['Transfer-Encoding'] = 'chunked'
  return copy
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

export class NetworkProxy {
  readonly #requestMs: number
  readonly #sockets = new Set<Socket>()
  readonly #ended = new AbortController()
  readonly #hosts: HostConnector
  readonly #server: Server

  constructor(rules: NetworkRules, requestMs = REQUEST_MS) {
    this.#requestMs = requestMs
    this.#hosts = new HostConnector(rules, this.#ended.signal)
    this.#server = this.#createServer()
  }

  /** Returns the port, of a proxy that listens on one. */
  async listen(options: ListenOptions): Promise<number | null> {
    await new Promise<void>((listening, fail) => {
      this.#server.once('error', fail)
      this.#server.listen(options, listening)
    })
    const address = this.#server.address()
    return typeof address === 'object' && address ? address.port : null
  }

  close(): void {
    this.#ended.abort(new Error('The command has ended.'))
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #createServer(): Server {
    const server = createServer({
      headersTimeout: this.#requestMs,
      requestTimeout: 0,
      connectionsCheckingInterval: Math.min(this.#requestMs, 10_000),
    })
    server.maxConnections = MAX_CONNECTIONS
    server.on('connect', (request, client, head) =>
      this.#onConnect(request, client as Socket, head),
    )
    server.on('request', (request, response) => void this.#onRequest(request, response))
    server.on('clientError', (_, client) => client.destroy())
    // The first byte says which protocol it is.
    const [speakHttp] = server.listeners('connection')
    server.removeAllListeners('connection')
    server.on('connection', (client: Socket) => {
      this.#track(client)
      const timer = setTimeout(() => client.destroy(), this.#requestMs)
      take(client, 1)
        .finally(() => clearTimeout(timer))
        .then(
          first => {
            if (first[0] === SOCKS) return void this.#onSocks(client)
            client.unshift(first)
            speakHttp?.call(server, client)
          },
          () => client.destroy(),
        )
    })
    return server
  }

  #track(socket: Socket): Socket {
    this.#sockets.add(socket)
    return socket.once('close', () => this.#sockets.delete(socket)).on('error', () => undefined)
  }

  async #connect(target: NetworkTarget): Promise<Socket> {
    const socket = this.#track(await this.#hosts.connect(target))
    // It may have ended while it connected.
    if (this.#ended.signal.aborted) socket.destroy()
    return socket
  }

  /** `connected` and `refused` are what the client is told. */
  async #tunnel(
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
  ): Promise<void> {
    try {
      const server = await this.#connect(target)
      if (client.destroyed) return void server.destroy()
      client.write(connected)
      if (head?.length) server.write(head)
      join(client, server)
    } catch (error) {
      endWith(client, refused(toRefusal(error)))
    }
  }

  async #onSocks(client: Socket): Promise<void> {
    const timer = setTimeout(() => client.destroy(), this.#requestMs)
    const refused = ({ reply }: Refusal) => toReply(reply)
    try {
      const target = await readSocks(client)
      clearTimeout(timer)
      await this.#tunnel(client, target, { connected: toReply(0), refused })
    } catch (error) {
      endWith(client, error instanceof Refusal ? refused(error) : '')
    } finally {
      clearTimeout(timer)
    }
  }

  #onConnect({ url = '' }: IncomingMessage, client: Socket, head: Buffer): void {
    client.on('error', () => undefined)
    const target = readTarget(url)
    if (!target) {
      endWith(client, asText(new Refusal('This is no host and port.', 400, 1)))
      return
    }
    const connected = 'HTTP/1.1 200 Connection established\r\n\r\n'
    void this.#tunnel(client, target, { head, connected, refused: asText })
  }

  async #onRequest(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const refuse = ({ status, message }: Refusal): void => {
      if (response.headersSent) return void response.destroy()
      const headers = { 'content-type': 'text/plain; charset=utf-8', connection: 'close' }
      response.writeHead(status, headers).end(`${message}\n`)
    }
    const url = URL.parse(incoming.url ?? '')
    const target =
      url?.protocol === 'http:' ? readTarget(`${url.hostname}:${url.port || 80}`) : null
    if (!url || !target)
      return refuse(new Refusal('This is a proxy: ask it for an http:// address.', 400, 1))
    try {
      const socket = await this.#connect(target)
      if (incoming.destroyed) return void socket.destroy()
      const outgoing = request({
        createConnection: () => socket,
        method: incoming.method,
        path: url.pathname + url.search,
        headers: { ...forwarded(incoming, true), Host: url.host, Connection: 'close' },
      })
      outgoing.once('response', answer => {
        response.writeHead(answer.statusCode ?? 502, answer.statusMessage, forwarded(answer, false))
        pipeline(answer, response, error => error && socket.destroy())
      })
      outgoing.on('error', () => refuse(new Refusal(`${target.host} did not answer.`, 502, 1)))
      pipeline(incoming, outgoing, error => error && socket.destroy())
    } catch (error) {
      refuse(toRefusal(error))
    }
  }
}
