/** Check of the container that commands run in, where terminal.backend asks for one. Starts and downloads nothing. */
import { inspectContainer } from '../app/command-place.ts'
import { messageOf, UserError } from '../errors.ts'
import { type Check, type CheckContext, fail, ok, warn } from './check.ts'

export const containerChecks = async ({ home, config }: CheckContext): Promise<Check[]> => {
  const about = 'container'
  try {
    const found = await inspectContainer(home, config.userHome)
    if (found === null) return []
    const { image, engine, program, isDownloaded } = found
    return isDownloaded
      ? [ok(about, `commands run in ${image} (${engine}, ${program})`)]
      : [
          warn(
            'image_missing',
            about,
            `the image ${image} is not here`,
            `The first command downloads it; or run: ${engine} pull ${image}`,
          ),
        ]
  } catch (error) {
    // An unreadable configuration has a check of its own.
    if (error instanceof UserError && error.extra.config_problem === true) return []
    return [
      fail('container_unusable', about, messageOf(error), 'No command runs until this is solved.'),
    ]
  }
}
