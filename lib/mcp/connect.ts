/** Reaches one server: the library is loaded with the first of them, the transport chosen by what the server is. */
import type { Client, ClientOptions, Transport } from '@modelcontextprotocol/client'
import type { Dispatcher } from 'undici'
import { messageOf } from '../errors.ts'
import type { HttpServer, ServerConfig } from './config.ts'
import { createStdioTransport, serverEnvironment } from './stdio-transport.ts'

export type McpTarget = {
  /** The home's variables; only a few of them reach a server. */
  env: Readonly<Record<string, string>>
  /** Where a server's program runs. */
  dir: string
  version: string
  dispatcher: Dispatcher | undefined
}

export type Connection = {
  client: Client
  /** How the server ended, where that can be known. */
  exitReason(): string | null
  close(): Promise<void>
}

export type ConnectHooks = {
  signal: AbortSignal
  onOutput: (text: string) => void
  onClose: () => void
  /** The server has other tools than before. */
  onChange: () => void
  elicit: (params: unknown) => Promise<unknown>
}

const load = () => import('@modelcontextprotocol/client')
type Library = Awaited<ReturnType<typeof load>>

/** Refused as a page would be: the server may speak the older transport. */
const isUnsupportedTransport = (error: unknown): boolean =>
  error instanceof Error &&
  'status' in error &&
  [400, 404, 405, 406, 415].includes(Number(error.status))

/** Requests go the way the person's other requests go. */
const fetchWith = (dispatcher: Dispatcher | undefined) => {
  if (!dispatcher) return {}
  return {
    fetch: async (url: string | URL, init?: RequestInit): Promise<Response> => {
      const { fetch } = await import('undici')
      type Init = Parameters<typeof fetch>[1]
      const answer = await fetch(url, { ...(init as object), dispatcher } as Init)
      // The same class in all but name: Node's own fetch is a copy of this one.
      return answer as unknown as Response
    },
  }
}

const httpTransports = (library: Library, server: HttpServer, target: McpTarget) => {
  const url = new URL(server.url)
  const options = { requestInit: { headers: server.headers }, ...fetchWith(target.dispatcher) }
  const streamableHttp = (): Transport => new library.StreamableHTTPClientTransport(url, options)
  const sse = (): Transport => new library.SSEClientTransport(url, options)
  return server.sse ? [sse] : [streamableHttp, sse]
}

/** Rejects with a sentence, or with the signal's reason; nothing is left running then. */
export const connect = async (
  server: ServerConfig,
  target: McpTarget,
  hooks: ConnectHooks,
): Promise<Connection> => {
  const library = await load()
  const attempt = async (transport: Transport): Promise<Client> => {
    const options: ClientOptions = {
      // Of what a server may ask of us, only a question to the person: model calls and places it gets by being called.
      capabilities: { elicitation: { form: {} } },
      versionNegotiation: { mode: server.kind === 'http' ? 'auto' : 'legacy' },
      listChanged: { tools: { autoRefresh: false, onChanged: hooks.onChange } },
    }
    const client = new library.Client({ name: 'agent-webui', version: target.version }, options)
    client.setRequestHandler(
      'elicitation/create',
      async request => (await hooks.elicit(request.params)) as { action: 'decline' },
    )
    const { connectTimeoutMs: timeout } = server
    try {
      await client.connect(transport, { timeout, signal: hooks.signal })
    } catch (error) {
      await client.close().catch(() => undefined)
      await transport.close().catch(() => undefined)
      throw error
    }
    // From here on an end is an end of something that worked.
    client.onclose = hooks.onClose
    return client
  }

  if (server.kind === 'stdio') {
    const transport = createStdioTransport(server, {
      env: serverEnvironment(target.env, server.env),
      cwd: target.dir,
      onOutput: hooks.onOutput,
    })
    const client = await attempt(transport).catch((error: unknown) => {
      const how = transport.exitReason()
      throw how === null || hooks.signal.aborted ? error : new Error(sentenceOf(how))
    })
    return { client, exitReason: transport.exitReason, close: () => client.close() }
  }

  let refusal: unknown
  for (const make of httpTransports(library, server, target)) {
    try {
      const client = await attempt(make())
      return { client, exitReason: () => null, close: () => client.close() }
    } catch (error) {
      refusal ??= error
      if (!isUnsupportedTransport(error)) break
    }
  }
  throw refusal instanceof Error ? refusal : new Error(messageOf(refusal))
}

/** `it ended with exit code 1` → `It ended with exit code 1 before it answered.` */
const sentenceOf = (how: string): string =>
  how.startsWith('it ') ? `I${how.slice(1)} before it answered.` : how
