/** Check of the container that commands run in, where terminal.backend asks for one. Starts and downloads nothing. */
import { containerEngine, containerSettings } from '../app/container-runners.ts'
import { openEngine } from '../containers/engine.ts'
import { messageOf, UserError } from '../errors.ts'
import { type Check, type CheckContext, fail, ok, warn } from './check.ts'

export const containerChecks = async ({ home, config }: CheckContext): Promise<Check[]> => {
  const about = 'container'
  try {
    const wanted = containerEngine(home)
    if (wanted === null) return []
    const { image } = containerSettings(home, wanted, config.userHome)
    const cli = await openEngine(home.childEnv(), wanted)
    const found = await cli.run(['image', 'inspect', '--format', '{{.Id}}', image])
    return found.code === 0
      ? [ok(about, `commands run in ${image} (${cli.engine}, ${cli.program})`)]
      : [
          warn(
            about,
            `the image ${image} is not here`,
            `The first command downloads it; or run: ${cli.engine} pull ${image}`,
          ),
        ]
  } catch (error) {
    // An unreadable configuration has a check of its own.
    if (error instanceof UserError && error.extra.config_problem === true) return []
    return [fail(about, messageOf(error), 'No command runs until this is solved.')]
  }
}
