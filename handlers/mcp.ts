/** MCP servers of the profile: list, configure and test them. */
import { withCodes } from '../lib/base/sentences.ts'
import { Sentences } from '../lib/schema/sentence.ts'
import { z } from 'zod'
import { type Ctx, endpoint } from '../lib/context.ts'
import { invalid } from '../lib/errors.ts'
import { enableServer, enableTool, removeServer, saveServer } from '../lib/mcp/edit-config.ts'
import { McpServerRow, McpTool, McpTestResult } from '../lib/schema/mcp.ts'
import { Ok, ok } from '../lib/schema/ok.ts'

/** A path parameter: percent-encoded, and any name that config.yaml may hold. */
const Named = z
  .string()
  .min(1)
  .max(600)
  .transform(text => {
    try {
      return decodeURIComponent(text)
    } catch {
      // An incomplete percent escape.
      throw invalid('name is not valid')
    }
  })

const Text = z.string().max(4_000)
const Values = z.record(z.string().min(1).max(200), Text)
const NEW_NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,39}$/

const Change = z.object({
  name: Named,
  command: Text.optional(),
  args: z.array(Text).max(200).optional(),
  env: Values.optional(),
  url: Text.optional(),
  headers: Values.optional(),
  timeout: z.number().positive().max(3_600).optional(),
  connect_timeout: z.number().positive().max(600).optional(),
  enabled: z.boolean().optional(),
  /** Fail when the name exists. */
  create: z.boolean().optional(),
})

const Server = Ok.extend({ server: McpServerRow.nullable() })

const serverOf = (ctx: Ctx, name: string) =>
  ctx.app.mcp.list(ctx.home).find(each => each.name === name) ?? null

export const list = endpoint({
  access: 'own',
  summary: 'MCP servers of the profile with their state and tools',
  cache: 'no-store',
  output: z.object({
    servers: z.array(McpServerRow),
    problem: z.string().nullable(),
    sentences: Sentences.optional(),
  }),
  run: ctx =>
    withCodes({ servers: ctx.app.mcp.list(ctx.home), problem: ctx.home.configFile.problem() }),
})

export const tools = endpoint({
  access: 'own',
  summary: 'Tools of all connected MCP servers',
  cache: 'no-store',
  output: z.object({ tools: z.array(McpTool) }),
  run: ctx => ({ tools: ctx.app.mcp.list(ctx.home).flatMap(each => each.tools) }),
})

export const save = endpoint({
  access: 'own',
  summary: 'Add an MCP server to config.yaml, or change one',
  input: Change,
  output: Server,
  run(ctx, { name, create, ...change }) {
    if (!serverOf(ctx, name) && !NEW_NAME.test(name))
      throw invalid('A name can have at most 40 characters: letters, digits, - _ and .', {
        code: 'mcp_invalid_name',
      })
    saveServer(ctx.home, name, change, { create: create ?? false })
    return { ...ok, server: serverOf(ctx, name) }
  },
})

export const patch = endpoint({
  access: 'own',
  summary: 'Enable or disable an MCP server or one of its tools',
  input: z.object({ name: Named, enabled: z.boolean(), tool: z.string().max(256).optional() }),
  output: Server,
  run(ctx, { name, enabled, tool }) {
    if (tool === undefined) enableServer(ctx.home, name, enabled)
    else enableTool(ctx.home, name, tool, enabled)
    return { ...ok, server: serverOf(ctx, name) }
  },
})

export const remove = endpoint({
  access: 'own',
  summary: 'Remove an MCP server from config.yaml, sign out of it, and stop it',
  input: z.object({ name: Named }),
  output: Ok.extend({ name: z.string() }),
  async run(ctx, { name }) {
    await ctx.app.mcp.signIns.signOut(ctx.home, name)
    removeServer(ctx.home, name)
    // Listing stops it now instead of with the next turn.
    ctx.app.mcp.list(ctx.home)
    return { ...ok, name }
  },
})

export const test = endpoint({
  access: 'own',
  summary: 'Start an MCP server and report the result',
  cache: 'no-store',
  input: z.object({ name: z.string().min(1).max(200) }),
  output: McpTestResult,
  run: (ctx, { name }) => ctx.app.mcp.test(ctx.home, name, ctx.signal),
})
