/** The tools of a turn: the engine's own and those of its home, minus the disabled ones. */
import { exitPlanMode } from '../../agent/tools/exit-plan-mode.ts'
import { clarify } from '../../agent/tools/clarify.ts'
import { toolbox, asTool } from '../../agent/tools/toolbox.ts'
import { toolsetOf } from '../../agent/toolsets.ts'
import { toolInfo } from '../../base/tools.ts'
import type { Tool } from '../../agent/types.ts'
import { homeTools } from './home-tools.ts'
import { listTools, mcpTools } from './mcp-tools.ts'
import { rulesFor } from './permissions/home-rules.ts'
import type { TurnClient } from '../turn.ts'
import type { Services } from './services.ts'
import type { TurnScope } from './turn-scope.ts'
import { type ToolsetSelection, selectToolsets } from './enabled-toolsets.ts'

/** A tool without a toolset belongs to an MCP server (`mcp_<server>_<tool>`), which decides. */
const isSelected = ({ name }: Tool, { toolsets, allowsTool }: ToolsetSelection): boolean => {
  const toolset = toolsetOf(name)
  return toolset === undefined ? allowsTool(name) : toolsets.has(toolset)
}

/**
 * A function of the client replaces our tool of that name: it runs on the client's side, so it can do less here, not more.
 * Questions have no card in the client; the model asks in its answer instead.
 */
const usableBeside = ({ tools: theirs, approvals }: TurnClient) => {
  const names = new Set(theirs.map(({ name }) => name))
  // A plan is approved on the page, like a command.
  const isUnanswered = ({ name, kind }: Tool) =>
    kind === 'ask' && (name === clarify.name || approvals === 'deny')
  return (tool: Tool): boolean => !isUnanswered(tool) && !names.has(tool.name)
}

const usableIn = ({ turn: { client }, unattended }: TurnScope): ((tool: Tool) => boolean) => {
  if (client) return usableBeside(client)
  return ({ kind, name }) => !unattended || (kind !== 'ask' && !toolInfo(name)?.needsUser)
}

export const turnTools = async (scope: TurnScope, services: Services): Promise<readonly Tool[]> => {
  const offer = await mcpTools(scope, services)
  const selection = selectToolsets(scope.config, scope.meta.enabled_toolsets)
  const { timeout: timeoutS, persistent_shell: isPersistent } = scope.config.terminal
  const { home, workspace, sessionId: owner } = scope
  const runner = services.runners.runnerFor({ home, workspace, owner })
  const builtIn = toolbox({ timeoutS, isPersistent, runner })
  const rules = rulesFor(home, workspace, home.childEnv())
  // A denied tool is not described: that saves its tokens, and a call that can only fail.
  const isOffered = (tool: Tool) => isSelected(tool, selection) && rules.isOffered(tool)
  const isUsable = usableIn(scope)
  // From the first use of plan mode on, so that turning it off and on again changes nothing that is sent before it.
  const planning = scope.meta.mode ? [asTool(exitPlanMode)] : []
  const own = [...[...builtIn, ...homeTools(scope, services)].filter(isOffered), ...planning]
  const all = listTools(
    scope,
    {
      own: own.filter(isUsable),
      tools: offer.tools.filter(tool => isOffered(tool) && isUsable(tool)),
      missing: offer.missing.filter(selection.mcp),
      warnings: offer.warnings,
    },
    services.sessions,
    services.promptCache,
  )
  return [...all, ...(scope.turn.client?.tools ?? []).filter(tool => rules.isOffered(tool))]
}
