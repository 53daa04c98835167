/** Decides how a command is started: directly on this computer, or by the runner of its turn. */
import type { Approved } from '../permissions/decide.ts'
import type { RunsIn } from '../../schema/command-place.ts'
import type {
  CommandAccess,
  CommandPlacement,
  CommandRunner,
  PlacedProgram,
} from '../tool-services.ts'
import type { ToolContext } from '../types.ts'

/** Where a command runs; undefined where all commands run directly on this computer. */
export const runsIn = (
  runner: CommandRunner | undefined,
  access: CommandAccess,
): RunsIn | undefined => {
  if (!runner) return undefined
  if (access === 'unconfined') return 'outside'
  const place = runner.kind === 'docker' || runner.kind === 'podman' ? 'container' : 'sandbox'
  return runner.network === true ? `${place}_network` : place
}

/** By reach, least first. */
const REACH: readonly RunsIn[] = [
  'sandbox',
  'container',
  'sandbox_network',
  'container_network',
  'outside',
]

export const widest = (a: RunsIn | undefined, b: RunsIn): RunsIn =>
  a !== undefined && REACH.indexOf(a) > REACH.indexOf(b) ? a : b

/** Rejects with a sentence when the runner cannot run it. It never runs directly instead. */
export const placeCommand = async (
  { turn: { runner }, onCommand }: ToolContext,
  { access, changesGit = false }: Approved,
  placement: Omit<CommandPlacement, 'access' | 'changesGit'>,
): Promise<PlacedProgram> => {
  const { program, cwd, env } = placement
  const where = runsIn(runner, access)
  if (where !== undefined) onCommand?.(where)
  if (!runner || access === 'unconfined') return { ...program, cwd, env }
  const network = runner.network === true ? 'network' : 'confined'
  return runner.place({ ...placement, access: network, changesGit })
}
