/** MCP servers: configuration with masked secrets, state and tools. */
import { z } from 'zod'
import { Sentences } from './sentence.ts'

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
    sentences: Sentences.optional(),
    /** The end of its standard error. */
    stderr: z.string(),
    /** Name and version that it reports. */
    version: z.string().nullable(),
    tools: z.array(McpTool),
    /** The sign-in (OAuth) of a server over HTTP. */
    sign_in: z.object({
      /** `offered`: configured with `auth: oauth`. `none`: the server has required none so far. */
      state: z.enum(['none', 'offered', 'needed', 'pending', 'signed_in']),
      /** Host of the authorization server. */
      host: z.string().nullable(),
      /** While `pending`: the person pastes the address the browser was sent to. */
      paste: z.boolean(),
      /** Why the last attempt failed. */
      failure: z.string().nullable(),
    }),
  })
  .meta({ id: 'McpServer' })
export type McpServerRow = z.infer<typeof McpServerRow>

export const McpTestResult = z
  .object({
    ok: z.boolean(),
    message: z.string(),
    sentences: Sentences.optional(),
    tools: z.array(z.string()),
    stderr: z.string(),
    duration_ms: z.number(),
  })
  .meta({ id: 'McpTrial' })
export type McpTestResult = z.infer<typeof McpTestResult>
