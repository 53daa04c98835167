/** The tools, resources and prompts of MCP servers as tools of the engine. */
import type { Client } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { shortenCounting } from '../base/shorten.ts'
import { asObject, asStrings } from '../base/json.ts'
import type { Tool, ToolContext, ToolResult } from '../agent/types.ts'
import { coerceArguments } from './coerce-arguments.ts'
import { isToolEnabled } from './config.ts'
import type { ListedTool } from './list-tools.ts'
import { argumentNames, toolName } from './tool-names.ts'
import { type ContentStore, promptResult, resourceResult, toResult } from './results.ts'
import type { Sample } from './sampling.ts'
import type { McpServer } from './server.ts'

export type ServerSource = {
  /** The server as it is configured at the time of the call. Throws when it has been removed. */
  find: (name: string) => McpServer
  /** Calls a model for a server; absent where no user can approve it. */
  sampleFor?: ((ctx: ToolContext) => Sample) | undefined
}

/** How long a call waits for a server that has to be restarted. */
const RESTART_WAIT_MS = 20_000
const MAX_PREVIEW_CHARS = 120
/** Progress resets the timeout of a call, up to this many timeouts in total. */
const MAX_TIMEOUT_FACTOR = 5

const anything = z.looseObject({})

/** The label with the first string argument. */
const previewOf = (label: string, args: Readonly<Record<string, unknown>>): string => {
  const words = Object.values(args).find(value => typeof value === 'string' && value !== '')
  const whole = words === undefined ? label : `${label} · ${String(words)}`
  return shortenCounting(whole, MAX_PREVIEW_CHARS)
}

/** How a request to a server is limited, cancelled, and followed. */
type CallLimits = {
  signal: AbortSignal
  timeout: number
  resetTimeoutOnProgress: boolean
  maxTotalTimeout: number
  onprogress: (progress: Progress) => void
}

const limitsOf = (server: McpServer, ctx: ToolContext): CallLimits => ({
  signal: ctx.signal,
  timeout: server.config.timeoutMs,
  resetTimeoutOnProgress: true,
  maxTotalTimeout: server.config.timeoutMs * MAX_TIMEOUT_FACTOR,
  onprogress: ({ progress, total, message }: Progress) =>
    ctx.output(`${total === undefined ? progress : `${progress}/${total}`} ${message ?? ''}\n`),
})
type Progress = { progress: number; total?: number | undefined; message?: string | undefined }

const use = async <T>(
  source: ServerSource,
  name: string,
  ctx: ToolContext,
  work: (client: Client, options: CallLimits) => Promise<T>,
): Promise<T> => {
  const server = source.find(name)
  // The server may ask in the middle of its work.
  ctx.onBegin?.()
  const {
    clarify: askUser,
    approve,
    output,
    signal,
    turn: { workspace },
  } = ctx
  const sample = source.sampleFor?.(ctx)
  return server.use(client => work(client, limitsOf(server, ctx)), {
    caller: { askUser, approve, sample, workspace, output, signal },
    waitMs: RESTART_WAIT_MS,
  })
}

const keepOf = ({ keepImage, keepFile }: ToolContext, name: string): ContentStore => ({
  name,
  image: keepImage,
  file: keepFile,
})

/** Null when the call may run. Only tools that declare `destructiveHint` need approval; see lib/mcp/README.md. */
const requestApproval = async (
  ctx: ToolContext,
  label: string,
  args: Readonly<Record<string, unknown>>,
): Promise<ToolResult | null> => {
  const choice = await ctx.approve({
    command: `${label} ${JSON.stringify(args)}`,
    patternKeys: [`mcp: ${label}`],
    description: `mcp: ${label}`,
    any: { of: 'arguments', name: label, key: `mcp: ${label}` },
    cwd: ctx.turn.workspace,
  })
  if (choice !== 'deny') return null
  const error = `The user denied this call (${label}).`
  return {
    content: JSON.stringify({ error, hint: 'Do not try the same by another way.' }),
    isError: true,
    refusedBy: 'user',
  }
}

/** By name: some servers list their tools in another order each time they start, which would change the prompt. */
const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1)

/** The schema with the names that providers get. */
const withNames = (
  schema: Readonly<Record<string, unknown>>,
  ownNames: ReadonlyMap<string, string>,
): Record<string, unknown> => {
  const names = new Map([...ownNames].map(([name, own]) => [own, name]))
  const nameOf = (own: string) => names.get(own) ?? own
  const properties = Object.entries(asObject(schema.properties))
  return {
    ...schema,
    properties: Object.fromEntries(properties.map(([own, each]) => [nameOf(own), each])),
    required: asStrings(schema.required).map(nameOf),
  }
}

const toTool = (source: ServerSource, server: string, tool: ListedTool, name: string): Tool => {
  const label = `${server}/${tool.name}`
  const { parameters } = tool
  const ownNames = argumentNames(Object.keys(asObject(parameters.properties)))
  return {
    name,
    server,
    summary: tool.description,
    input: anything,
    parameters: ownNames.size > 0 ? withNames(parameters, ownNames) : parameters,
    kind: tool.readOnly ? 'read' : 'execute',
    preview: args => previewOf(label, args as Record<string, unknown>),
    async run(ctx, input) {
      const entries = Object.entries(input as Record<string, unknown>)
      const own = entries.map(([key, value]) => [ownNames.get(key) ?? key, value])
      const args = coerceArguments(Object.fromEntries(own), parameters)
      const denial = tool.destructive ? await requestApproval(ctx, label, args) : null
      if (denial) return denial
      const call = { name: tool.name, arguments: args }
      return use(source, server, ctx, async (client, options) =>
        toResult(
          // The newer protocol derives headers from the definition. With the older one the result is parsed here: the
          // library rejects a whole result because of one content type it does not know.
          client.getProtocolEra() === 'modern'
            ? await client.callTool(call, { ...options, toolDefinition: tool.definition })
            : await client.request({ method: 'tools/call', params: call }, anything, options),
          keepOf(ctx, label),
        ),
      )
    },
  }
}

/** Reads resources or prompts of a server. */
type Reader = {
  name: string
  summary: (server: string) => string
  input: z.ZodObject
  run: (
    client: Client,
    options: CallLimits,
    input: Record<string, string>,
    keep: (what: string) => ContentStore,
  ) => Promise<ToolResult>
}

/** Empty for servers without templates, which are not required to answer. */
const listTemplates = async (client: Client, options: CallLimits) => {
  try {
    const { resourceTemplates } = await client.listResourceTemplates(undefined, options)
    return resourceTemplates.map(({ uriTemplate, name, description, mimeType }) => ({
      ...{ uriTemplate, name, description, mimeType },
    }))
  } catch (error) {
    if (options.signal.aborted || !isUnknownMethod(error)) throw error
    return []
  }
}

/** JSON-RPC 2.0 §5.1. */
const isUnknownMethod = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === -32601

const RESOURCES: readonly Reader[] = [
  {
    name: 'list_resources',
    // The templates are named because the uri of a templated resource is in no list.
    summary: server =>
      `List the resources of the MCP server "${server}": their uri, name and type, and templates of further uris.`,
    input: z.object({}),
    async run(client, options) {
      const { resources } = await client.listResources(undefined, options)
      const templates = await listTemplates(client, options)
      const list = resources.map(({ uri, name, description, mimeType }) => ({
        ...{ uri, name, description, mimeType },
      }))
      const content = { resources: list, ...(templates.length > 0 && { templates }) }
      return { content: JSON.stringify(content) }
    },
  },
  {
    name: 'read_resource',
    summary: server => `Read one resource of the MCP server "${server}".`,
    input: z.object({ uri: z.string().min(1) }),
    run: async (client, options, { uri = '' }, keep) =>
      resourceResult(await client.readResource({ uri }, options), keep(uri)),
  },
]

const PromptInput = z.object({
  name: z.string().min(1),
  arguments: z.record(z.string(), z.coerce.string()).default({}),
})

const PROMPTS: readonly Reader[] = [
  {
    name: 'list_prompts',
    summary: server =>
      `List the prompts of the MCP server "${server}" and the arguments they take.`,
    input: z.object({}),
    async run(client, options) {
      const { prompts } = await client.listPrompts(undefined, options)
      const list = prompts.map(({ name, description, arguments: args }) => ({
        ...{ name, description, arguments: args },
      }))
      return { content: JSON.stringify({ prompts: list }) }
    },
  },
  {
    name: 'get_prompt',
    summary: server =>
      `Get one prompt of the MCP server "${server}", filled in with its arguments.`,
    input: PromptInput,
    async run(client, options, input, keep) {
      const request = PromptInput.parse(input)
      return promptResult(await client.getPrompt(request, options), keep(request.name))
    },
  },
]

const readerTool = (
  source: ServerSource,
  server: string,
  reader: Reader,
  usedNames: Set<string>,
): Tool => ({
  name: toolName(server, reader.name, usedNames),
  server,
  summary: reader.summary(server),
  input: reader.input,
  kind: 'read',
  preview: args => previewOf(`${server}/${reader.name}`, args as Record<string, unknown>),
  run: (ctx, input) =>
    use(source, server, ctx, (client, options) =>
      reader.run(client, options, input as Record<string, string>, what =>
        keepOf(ctx, `${server}/${what}`),
      ),
    ),
})

/** The tools of all servers that have listed them, in the order of the configuration. */
export const mcpTools = (servers: readonly McpServer[], source: ServerSource): Tool[] => {
  const usedNames = new Set<string>()
  return servers.flatMap(({ config: { name, filter }, listing }) => {
    const list = listing()
    if (!list) return []
    return [
      ...list.tools
        .filter(tool => isToolEnabled(filter, tool.name))
        .toSorted(byName)
        .map(tool => toTool(source, name, tool, toolName(name, tool.name, usedNames))),
      ...[
        ...(list.resources && filter.resources ? RESOURCES : []),
        ...(list.prompts && filter.prompts ? PROMPTS : []),
      ].map(reader => readerTool(source, name, reader, usedNames)),
    ]
  })
}
