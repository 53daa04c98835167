/**
 * Which tools a session describes to the model. What was described once stays, in the same bytes, whether or not its MCP server
 * is running, because tools come before everything else in a provider's prompt cache. Not described but found with
 * `tool_search` are: our own that few conversations need, those of MCP servers when they are many, and those of a server that was
 * not ready when the session began.
 */
import type { Words } from '../../base/sentences.ts'
import { sha256 } from '../../base/sha256.ts'
import { z } from 'zod'
import { describeTool, describeTools, type ToolDescription } from '../../agent/tool-schema.ts'
import { estimateTextTokens } from '../../agent/tokens.ts'
import { asTool } from '../../agent/tools/toolbox.ts'
import { callTool, toolSearch } from '../../agent/tools/tool-search.ts'
import type { Tool, ToolContext } from '../../agent/types.ts'
import { visibleName } from '../../base/visible.ts'
import { failed, UserError } from '../../errors.ts'
import type { Sample } from '../../mcp/sampling.ts'
import type { Sessions } from '../../sessions/sessions.ts'
import { rulesBasis } from './permissions/home-rules.ts'
import type { PromptCache, StoredTools } from './prompt-cache.ts'
import type { Services } from './services.ts'
import type { TurnScope } from './turn-scope.ts'

/** With `auto`, more are found by search instead: models choose badly from long lists. */
const MAX_TOOLS = 40
const MAX_TOKENS = 8_000
const MAX_CATALOG_CHARS = 2_000
/** The two tools of the search have about 200 tokens: for less than this, a search is not worth its step. */
const MIN_HIDDEN_TOKENS = 400
const MAX_SERVERS = 40

export type McpOffer = {
  /** The tools of all servers that are running, without those the user switched off. */
  tools: readonly Tool[]
  /** The servers that are not running. */
  missing: readonly string[]
  /** Why, in sentences. */
  warnings: readonly Words[]
}

/** `own`: our own tools of the turn. */
export type ToolOffer = McpOffer & { own: readonly Tool[] }

/** What the user changes, and a compaction, after which the prompt is new anyway. */
const basisOf = ({ config, meta, turn, sessionId }: TurnScope, sessions: Sessions): string => {
  const { endpoint } = turn
  const model = endpoint instanceof UserError ? null : [endpoint.provider, endpoint.model]
  const { mcp_servers, tools, platform_toolsets, agent } = config
  const toolsets = [platform_toolsets.cli, agent.disabled_toolsets, meta.enabled_toolsets ?? null]
  const spans = sessions.head(sessionId).spans.map(({ n }) => n)
  return sha256(
    JSON.stringify([model, mcp_servers ?? null, tools, toolsets, spans, ...rulesBasis(config)]),
  )
}

/** Gemini writes `{}` for an object whose properties are not declared (github.com/livekit/agents/issues/7170). */
const leavesObjectsEmpty = ({ turn: { endpoint } }: TurnScope): boolean =>
  !(endpoint instanceof UserError) && /gemini/i.test(endpoint.model)

const isTooMuch = (tools: readonly Tool[], { config, turn }: TurnScope): boolean => {
  const { enabled, threshold_pct: percent } = config.tools.tool_search
  if (enabled !== 'auto') return enabled === 'on'
  const tokens = estimateTextTokens(JSON.stringify(describeTools(tools)))
  const window = turn.endpoint instanceof UserError ? 0 : turn.endpoint.contextLength
  return (
    tools.length > MAX_TOOLS ||
    tokens > MAX_TOKENS ||
    (window > 0 && tokens > (window * percent) / 100)
  )
}

/** The servers and the names of their tools, without the prefix that all of them have. */
const catalogOf = (tools: readonly Tool[], missing: readonly string[]): string => {
  const groups = Map.groupBy(tools, ({ server = '' }) => server)
  const perServer = Math.floor(MAX_CATALOG_CHARS / Math.max(1, Math.min(groups.size, MAX_SERVERS)))
  const lines = [...groups].slice(0, MAX_SERVERS).map(([server, own]) => {
    const prefix = `mcp_${server.replace(/[^A-Za-z0-9_-]/g, '_')}_`
    const names: string[] = []
    let chars = 0
    for (const { name } of own) {
      const short = name.startsWith(prefix) ? name.slice(prefix.length) : name
      chars += short.length + 2
      if (chars > perServer) break
      names.push(short)
    }
    const more = own.length > names.length ? ', …' : ''
    return `${visibleName(server)} (${own.length}): ${names.join(', ')}${more}`
  })
  const late = missing.slice(0, MAX_SERVERS).map(visibleName).join(', ')
  return [
    ...(lines.length > 0 ? [`Servers and their tools: ${lines.join('; ')}.`] : []),
    ...(late === ''
      ? []
      : [`Not ready when this conversation began, so search again later: ${late}.`]),
  ].join(' ')
}

const build = ({ own, tools, missing }: ToolOffer, scope: TurnScope): StoredTools => {
  const isDeferred = isTooMuch(tools, scope)
  const hasSearch = scope.config.tools.tool_search.enabled !== 'off'
  const needsSearch = hasSearch && ((isDeferred && tools.length > 0) || missing.length > 0)
  const seldom = own.filter(tool => tool.seldom !== undefined)
  const isWorthIt =
    needsSearch || estimateTextTokens(JSON.stringify(describeTools(seldom))) >= MIN_HIDDEN_TOKENS
  return {
    tools: (isDeferred ? [] : describeTools(tools)) as StoredTools['tools'],
    catalog: needsSearch ? catalogOf(isDeferred ? tools : [], missing) : null,
    deferred: hasSearch && isWorthIt ? seldom.map(({ name }) => name) : [],
  }
}

/** The names of our own that can be found, each with what it is for. */
const ownCatalog = (tools: readonly Tool[]): string => {
  const names = tools.flatMap(({ name, seldom }) => (seldom ? [`${name} (${seldom})`] : []))
  return names.length === 0 ? '' : `Tools of this service: ${names.join(', ')}.`
}

/** A tool that was described and whose server is not running. */
const unavailableTool = (
  { name, description, parameters }: ToolDescription,
  warnings: readonly Words[],
): Tool => ({
  name,
  summary: description,
  input: z.looseObject({}),
  parameters: parameters as Record<string, unknown>,
  kind: 'execute',
  preview: () => '',
  run() {
    throw new Error(
      `This tool cannot be used now. ${warnings.join(' ') || 'Its server no longer offers it.'}`,
    )
  },
})

/** The running tool with the description that was sent, in case the server has changed it. */
const asDescribed = (tool: Tool, { description, parameters }: ToolDescription): Tool => ({
  ...tool,
  summary: description,
  parameters: parameters as Record<string, unknown>,
})

/** The tools of a turn, those that are found by search included. */
export const listTools = (
  scope: TurnScope,
  offer: ToolOffer,
  sessions: Sessions,
  promptCache: PromptCache,
): Tool[] => {
  const { sessionId } = scope
  const { own, tools, missing, warnings } = offer
  const basis = basisOf(scope, sessions)
  const earlier = promptCache.tools(sessionId, basis)
  const sent = earlier ?? build(offer, scope)
  if (!earlier && tools.length === 0 && missing.length === 0 && sent.deferred.length === 0)
    return [...own]
  const isSent = ({ name }: Tool) => sent.tools.some(each => each.name === name)
  const others = tools.filter(tool => !isSent(tool))
  // Without search there is no other way to offer what a server announces later.
  const newTools = sent.catalog === null ? others.map(describeTool) : []
  const list = { ...sent, tools: [...sent.tools, ...newTools] as StoredTools['tools'] }
  if (!earlier || newTools.length > 0) promptCache.saveTools(sessionId, basis, list)
  const described = list.tools.map(description => {
    const running = tools.find(({ name }) => name === description.name)
    return running ? asDescribed(running, description) : unavailableTool(description, warnings)
  })
  // By name: what is seldom needed may change, and what was sent must not.
  const isSeldom = ({ name }: Tool) => sent.deferred.includes(name)
  const visible = own.filter(tool => !isSeldom(tool))
  const hidden = own.filter(isSeldom)
  const { catalog } = list
  if (catalog === null && hidden.length === 0) return [...visible, ...described]
  const deferred = [...hidden, ...(catalog === null ? [] : others)].map(
    (tool): Tool => ({ ...tool, deferred: true }),
  )
  const findable = { tools: deferred, unavailable: warnings.map(String) }
  const catalogs = [catalog ?? '', ownCatalog(hidden)].filter(text => text !== '').join(' ')
  return [
    ...visible,
    asTool(toolSearch(findable, catalogs)),
    asTool(callTool(findable, leavesObjectsEmpty(scope))),
    // Last, because some may be added.
    ...described,
    ...deferred,
  ]
}

/** Calls a model for a server. */
const sampleFor =
  ({ home, turn }: TurnScope, { auxiliary }: Services) =>
  ({ addUsage, turn: { checkBudget } }: ToolContext): Sample =>
  async (messages, { model, allowedModels, maxTokens, signal }) => {
    const own = turn.endpoint instanceof UserError ? null : turn.endpoint
    const { endpoint, ask } = auxiliary.for('mcp', home, own, model ?? undefined)
    if (allowedModels.length > 0 && !allowedModels.includes(endpoint.model))
      throw new Error(`The model ${endpoint.model} is not among its allowed_models.`)
    const refusal = (await checkBudget?.()) ?? null
    if (refusal !== null) throw failed(refusal)
    const text = await ask(messages, {
      signal,
      maxTokens,
      isOnly: true,
      ...(addUsage && { onUsage: addUsage }),
    })
    return { text, model: endpoint.model }
  }

/** Tools of the MCP servers that respond, and a warning once per session about those that do not. */
export const mcpTools = async (scope: TurnScope, services: Services): Promise<McpOffer> => {
  const { home, turn, sessionId, unattended } = scope
  // A turn without a user has no one to approve the requests.
  const sample = unattended ? undefined : sampleFor(scope, services)
  const places = [home, services.sessionServers?.(sessionId)].filter(place => place != null)
  const offers = await Promise.all(
    places.map(place => services.mcp.tools(place, turn.controller.signal, sample)),
  )
  const warnings = offers.flatMap(offer => offer.warnings)
  services.warnings.mcp.show(turn, warnings)
  // A server of the session replaces one of the profile with the same name.
  const tools = new Map(offers.flatMap(offer => offer.tools).map(tool => [tool.name, tool]))
  return {
    tools: [...tools.values()],
    missing: offers.flatMap(({ missing }) => missing),
    warnings,
  }
}
