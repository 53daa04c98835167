/** The files and uploads of sessions, for their endpoints. */
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Config } from '../config.ts'
import type { FileScopes } from './file-scope.ts'
import type { WorkspaceGitOptions } from './git.ts'
import { Trash } from './trash.ts'

export class SessionFiles {
  readonly areas: FileScopes
  /** Uploads on their way. */
  readonly incomingDir: string
  readonly trash: Trash
  /** For `openGit`. */
  readonly gitOptions: WorkspaceGitOptions

  constructor(config: Config, areas: FileScopes, clock: Clock) {
    const { stateDir, userHome, env } = config
    this.areas = areas
    this.incomingDir = join(stateDir, 'incoming')
    // Left by a killed process; the instance lock makes this process the only user of the folder.
    rmSync(this.incomingDir, { recursive: true, force: true })
    this.trash = new Trash(join(stateDir, 'file-trash'), clock)
    this.gitOptions = { path: env.PATH, userHome, xdgConfigHome: env.XDG_CONFIG_HOME }
  }
}
