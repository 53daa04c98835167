/** Lists the tools of an MCP server page by page. A malformed entry is left out, the others are kept. */
import type { Client, Tool as Definition } from '@modelcontextprotocol/client'
import { z } from 'zod'
import { maskLeaving } from '../base/redact/redact.ts'

export type ListedTool = {
  name: string
  description: string
  /** The server's JSON Schema. */
  parameters: Record<string, unknown>
  /** `readOnlyHint`: a hint, not a guarantee. */
  readOnly: boolean
  destructive: boolean
  definition: Definition
}

export type Listing = {
  tools: readonly ListedTool[]
  resources: boolean
  prompts: boolean
  /** A sentence about tools that were left out; null when there are none. */
  note: string | null
}

/** Providers reject long lists of tools, and models choose badly from them. */
const MAX_TOOLS = 128
const MAX_PAGES = 20
const MAX_DESCRIPTION_CHARS = 4_000
const MAX_SCHEMA_CHARS = 64_000

const Page = z.looseObject({
  tools: z.array(z.unknown()).catch([]),
  nextCursor: z.string().optional().catch(undefined),
})

const ToolDefinition = z.looseObject({
  name: z.string().min(1).max(256),
  title: z.string().nullish().catch(null),
  description: z.string().nullish().catch(null),
  inputSchema: z.record(z.string(), z.unknown()).nullish().catch(null),
  annotations: z
    .looseObject({ readOnlyHint: z.unknown(), destructiveHint: z.unknown() })
    .partial()
    .nullish()
    .catch(null),
})

/** What a server says about a tool is sent to the model, and kept with the prompt. */
const masked = (value: unknown): unknown => {
  const text = JSON.stringify(value) ?? 'null'
  const safe = maskLeaving(text)
  return safe === text ? value : JSON.parse(safe)
}

const toTool = (value: unknown): ListedTool | undefined => {
  const parsed = ToolDefinition.safeParse(masked(value))
  if (!parsed.success) return undefined
  const { name, title, description, inputSchema, annotations } = parsed.data
  // Some providers reject `$schema`; all of them require a type at the root.
  const { $schema: _dialect, ...schema } = inputSchema ?? {}
  const parameters = { ...schema, type: 'object', properties: schema.properties ?? {} }
  if (JSON.stringify(parameters).length > MAX_SCHEMA_CHARS) return undefined
  const readOnly = annotations?.readOnlyHint === true
  const { outputSchema: _, ...definition } = parsed.data
  return {
    name,
    description: (description || title || name).slice(0, MAX_DESCRIPTION_CHARS),
    parameters,
    readOnly,
    destructive: !readOnly && annotations?.destructiveHint === true,
    // Without the output schema: a result that does not match it is still a result.
    definition: { ...definition, inputSchema: parameters } as unknown as Definition,
  }
}

export const readListing = async (
  client: Client,
  options: { timeout: number; signal: AbortSignal },
): Promise<Listing> => {
  const capabilities = client.getServerCapabilities() ?? {}
  const tools = new Map<string, ListedTool>()
  let broken = 0
  let more = 0
  let cursor: string | undefined
  for (let page = 0; capabilities.tools && page < MAX_PAGES; page++) {
    const request = { method: 'tools/list', params: cursor === undefined ? {} : { cursor } }
    const reply: z.output<typeof Page> = await client.request(request, Page, options)
    for (const entry of reply.tools) {
      const tool = toTool(entry)
      if (!tool || tools.has(tool.name)) broken++
      else if (tools.size >= MAX_TOOLS) more++
      else tools.set(tool.name, tool)
    }
    if (reply.nextCursor === undefined || reply.nextCursor === cursor) break
    cursor = reply.nextCursor
  }
  const notes = [
    ...(broken > 0 ? [`${broken} of its tools cannot be used as they are described.`] : []),
    ...(more > 0 ? [`It has more than ${MAX_TOOLS} tools; ${more} were left out.`] : []),
  ]
  return {
    tools: [...tools.values()],
    resources: capabilities.resources !== undefined,
    prompts: capabilities.prompts !== undefined,
    note: notes.join(' ') || null,
  }
}
