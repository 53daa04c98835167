/** Everything behind the endpoints about a session's files, git and uploads, put together. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Config } from '../config.ts'
import { type FileScopesOptions, createFileScopes } from './file-scope.ts'
import { createGitViews } from './git-views.ts'
import { createTrash } from './trash.ts'

type SessionFilesOptions = Omit<FileScopesOptions, 'config'> & {
  config: Config
  clock: Pick<Clock, 'now'>
}

export type SessionFiles = ReturnType<typeof createSessionFiles>

export const createSessionFiles = ({ config, clock, ...needs }: SessionFilesOptions) => {
  const { stateDir, userHome, env } = config
  const areas = createFileScopes({ config, ...needs })
  const incomingDir = join(stateDir, 'incoming')
  // Left by a killed process; the instance lock makes this process the only user of the folder.
  rmSync(incomingDir, { recursive: true, force: true })
  return {
    areas,
    sessionOf: needs.sessionOf,
    /** Uploads on their way. */
    incomingDir,
    trash: createTrash({ dir: join(stateDir, 'file-trash'), clock }),
    git: createGitViews(areas.of, {
      path: env.PATH,
      userHome,
      xdgConfigHome: env.XDG_CONFIG_HOME,
    }),
  }
}
