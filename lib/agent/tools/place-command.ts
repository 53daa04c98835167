/** Decides how a command is started: directly on this computer, or by the runner of its turn. */
import type { CommandAccess, CommandPlacement, PlacedProgram } from '../tool-services.ts'
import type { ToolContext } from '../types.ts'

/** A command that was approved: what it can reach. */
export type Approved = { access: CommandAccess; changesGit?: boolean }

/** Rejects with a sentence when the runner cannot run it. It never runs directly instead. */
export const placeCommand = async (
  { runner }: Pick<ToolContext, 'runner'>,
  { access, changesGit }: Approved,
  placement: Omit<CommandPlacement, 'access' | 'changesGit'>,
): Promise<PlacedProgram> => {
  const { program, cwd, env } = placement
  if (!runner || access === 'unconfined') return { ...program, cwd, env }
  return runner.place({ ...placement, access, changesGit })
}
