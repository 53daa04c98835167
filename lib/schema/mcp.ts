/** MCP servers: configuration with masked secrets, state and tools. */
import { z } from 'zod'

export const McpTool = z
  .object({
    /** The name that the model uses. */
    name: z.string(),
    server: z.string(),
    /** The name on the server. */
    tool: z.string(),
    description: z.string(),
    enabled: z.boolean(),
    read_only: z.boolean(),
    destructive: z.boolean(),
  })
  .meta({ id: 'McpTool' })
export type McpTool = z.infer<typeof McpTool>

export const McpServerRow = z
  .object({
    name: z.string(),
    transport: z.enum(['stdio', 'http']).nullable(),
    enabled: z.boolean(),
    state: z.enum(['disabled', 'stopped', 'starting', 'ready', 'failed', 'invalid']),
    command: z.string(),
    args: z.array(z.string()),
    env: z.record(z.string(), z.string()),
    url: z.string(),
    headers: z.record(z.string(), z.string()),
    timeout: z.number(),
    connect_timeout: z.number(),
    /** The last error, as a sentence. */
    error: z.string().nullable(),
    /** The end of its standard error. */
    stderr: z.string(),
    /** Name and version that it reports. */
    version: z.string().nullable(),
    tools: z.array(McpTool),
  })
  .meta({ id: 'McpServer' })
export type McpServerRow = z.infer<typeof McpServerRow>

export const McpTestResult = z
  .object({
    ok: z.boolean(),
    message: z.string(),
    tools: z.array(z.string()),
    stderr: z.string(),
    duration_ms: z.number(),
  })
  .meta({ id: 'McpTrial' })
export type McpTestResult = z.infer<typeof McpTestResult>
