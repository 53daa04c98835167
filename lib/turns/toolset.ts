/** Which tools a turn is given: the engine's own, what its home adds, and what its configuration leaves out. */
import { toolbox } from '../agent/tools/toolbox.ts'
import type { Tool } from '../agent/types.ts'
import type { TurnPlace } from './place.ts'

/** A maker of tools that are bound to a home or a session. */
export type ToolSource = (place: TurnPlace) => readonly Tool[] | Promise<readonly Tool[]>

export const createToolset =
  (sources: readonly ToolSource[]) =>
  async (place: TurnPlace): Promise<readonly Tool[]> => {
    const bound = await Promise.all(sources.map(source => source(place)))
    const all = [...toolbox, ...bound.flat()]
    // A question nobody can answer is not offered.
    return place.unattended ? all.filter(({ kind }) => kind !== 'ask') : all
  }
