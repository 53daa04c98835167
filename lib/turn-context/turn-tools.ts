/** Which tools a turn is given: the engine's own, what its home adds, and what its configuration leaves out. */
import { toolbox } from '../agent/tools/toolbox.ts'
import { toolsetOf } from '../agent/toolsets.ts'
import type { Tool } from '../agent/types.ts'
import type { TurnScope } from './turn-scope.ts'
import { type ToolsetSelection, selectToolsets } from './enabled-toolsets.ts'

/** A maker of tools that are bound to a home or a session. */
export type ToolSource = (place: TurnScope) => readonly Tool[] | Promise<readonly Tool[]>

/** What makes no sense where nobody watches, or would change what the person finds when they come back. */
const ATTENDED_ONLY = new Set(['clarify', 'memory', 'cronjob', 'messaging'])

/** A tool of no toolset is another program's, `mcp_<server>_<tool>`: its server decides. */
const isSelected = ({ name }: Tool, { toolsets, allowsTool }: ToolsetSelection): boolean => {
  const toolset = toolsetOf(name)
  return toolset === undefined ? allowsTool(name) : toolsets.has(toolset)
}

export const createTurnTools =
  (sources: readonly ToolSource[]) =>
  async (place: TurnScope): Promise<readonly Tool[]> => {
    const bound = await Promise.all(sources.map(source => source(place)))
    const selection = selectToolsets(place.config, place.meta.enabled_toolsets)
    const all = [...toolbox, ...bound.flat()].filter(tool => isSelected(tool, selection))
    if (!place.unattended) return all
    return all.filter(
      ({ kind, name }) => kind !== 'ask' && !ATTENDED_ONLY.has(toolsetOf(name) ?? ''),
    )
  }
