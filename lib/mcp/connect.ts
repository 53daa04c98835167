/** Connects to an MCP server over stdio or HTTP. The MCP library is loaded with the first connection. */
import type { Client, ClientOptions, Transport } from '@modelcontextprotocol/client'
import type { Dispatcher } from 'undici'
import { Sentence, sentence, type Words } from '../base/sentences.ts'
import { failed, messageOf } from '../errors.ts'
import type { HttpServer, ServerConfig } from './config.ts'
import type { TokenSource } from './oauth/token-source.ts'
import { StdioTransport } from './stdio-transport.ts'

export type McpTarget = {
  /** The environment of the home; a server inherits only a few of these variables. */
  env: Readonly<Record<string, string>>
  /** The working directory of a server without `cwd`. */
  dir: string
  version: string
  dispatcher: Dispatcher | undefined
  /** For a server over HTTP. */
  tokens?: TokenSource | undefined
}

export type Connection = {
  client: Client
  /** How the server's process ended; null while it runs, and for HTTP. */
  exitReason(): Words | null
  close(): Promise<void>
}

export type ConnectHooks = {
  signal: AbortSignal
  onOutput: (text: string) => void
  onClose: () => void
  /** The server announces that its list of tools has changed. */
  onChange: () => void
  elicit: (params: unknown, canceled: AbortSignal) => Promise<unknown>
  /** `canceled`: the server no longer waits. */
  sample: (params: unknown, canceled: AbortSignal) => Promise<unknown>
  roots: () => { roots: { uri: string; name: string }[] }
}

type SamplingResult = {
  role: 'assistant'
  model: string
  content: { type: 'text'; text: string }
}

const load = () => import('@modelcontextprotocol/client')
type Library = Awaited<ReturnType<typeof load>>

/** Status codes of servers that support only the older transport (MCP specification, backwards compatibility). */
const isUnsupportedTransport = (error: unknown): boolean =>
  error instanceof Error &&
  'status' in error &&
  [400, 404, 405, 406, 415].includes(Number(error.status))

/** Uses the configured proxy. */
const fetchWith = (dispatcher: Dispatcher | undefined) => {
  if (!dispatcher) return {}
  return {
    fetch: async (url: string | URL, init?: RequestInit): Promise<Response> => {
      const { fetch } = await import('undici')
      type Init = Parameters<typeof fetch>[1]
      const answer = await fetch(url, { ...(init as object), dispatcher } as Init)
      // Node's fetch is a copy of undici's: the same class under another name.
      return answer as unknown as Response
    },
  }
}

const httpTransports = (library: Library, server: HttpServer, target: McpTarget) => {
  const url = new URL(server.url)
  const options = {
    requestInit: { headers: server.headers },
    ...fetchWith(target.dispatcher),
    ...(target.tokens && { authProvider: target.tokens }),
  }
  const streamableHttp = (): Transport => new library.StreamableHTTPClientTransport(url, options)
  const sse = (): Transport => new library.SSEClientTransport(url, options)
  return server.sse ? [sse] : [streamableHttp, sse]
}

/** Rejects with a sentence, or with the signal's reason; no process or connection is left open then. */
export const connect = async (
  server: ServerConfig,
  target: McpTarget,
  hooks: ConnectHooks,
): Promise<Connection> => {
  const library = await load()
  const attempt = async (transport: Transport): Promise<Client> => {
    const options: ClientOptions = {
      capabilities: {
        elicitation: { form: {} },
        ...(server.sampling.enabled && { sampling: {} }),
        ...(server.hasRoots && { roots: { listChanged: true } }),
      },
      versionNegotiation: { mode: server.kind === 'http' ? 'auto' : 'legacy' },
      listChanged: { tools: { autoRefresh: false, onChanged: hooks.onChange } },
    }
    const client = new library.Client({ name: 'agent-webui', version: target.version }, options)
    client.setRequestHandler(
      'elicitation/create',
      async (request, { mcpReq }) =>
        (await hooks.elicit(request.params, mcpReq.signal)) as { action: 'decline' },
    )
    if (server.sampling.enabled)
      client.setRequestHandler(
        'sampling/createMessage',
        async (request, { mcpReq }) =>
          (await hooks.sample(request.params, mcpReq.signal)) as SamplingResult,
      )
    if (server.hasRoots) client.setRequestHandler('roots/list', async () => hooks.roots())
    const { connectTimeoutMs: timeout } = server
    try {
      await client.connect(transport, { timeout, signal: hooks.signal })
    } catch (error) {
      await client.close().catch(() => undefined)
      await transport.close().catch(() => undefined)
      throw error
    }
    // Only now: a failed attempt is reported by the rejection.
    client.onclose = hooks.onClose
    return client
  }

  if (server.kind === 'stdio') {
    const transport = new StdioTransport(server, target, hooks.onOutput)
    const client = await attempt(transport).catch((error: unknown) => {
      const how = transport.exitReason()
      throw how === null || hooks.signal.aborted ? error : failed(earlyEnd(how))
    })
    return { client, exitReason: () => transport.exitReason(), close: () => client.close() }
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

/** A program that did not start at all says so itself. */
const earlyEnd = (how: Words): Words =>
  how instanceof Sentence && how.coded.code !== 'mcp.no_program'
    ? sentence('mcp.ended_early', { reason: how })
    : how
