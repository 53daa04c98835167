/** Composition: the files a session works on, their checkpoints, the processes it leaves running, and the person's terminals. */
import { listFiles } from '../agent/search/list-files.ts'
import { type Checkpoints, createCheckpoints } from '../workspaces/checkpoints/checkpoints.ts'
import { missing } from '../errors.ts'
import type { HostSessions } from '../sessions/host-db/host-sessions.ts'
import { endDetached } from '../commands/own-processes/end-detached.ts'
import { MARK_VARIABLE } from '../commands/own-processes/own-processes.ts'
import { createProcessRegistry, type ProcessRegistry } from '../commands/processes.ts'
import type { Home } from '../profiles/home.ts'
import { otherHomePaths } from '../profiles/other-homes.ts'
import { redact } from '../base/redact/redact.ts'
import { type StartingFacts, StartingFactsCache } from '../turns/context/starting-facts.ts'
import { createFileSearch, type FileSearch } from '../workspaces/file-search.ts'
import { openPersonGit, type PersonGit, type PersonGitOptions } from '../workspaces/git-person.ts'
import { createSessionFiles, type SessionFiles } from '../workspaces/session-files.ts'
import { personShell, type PersonShell } from '../workspaces/terminals/person-shell.ts'
import { createTerminals, type Terminals } from '../workspaces/terminals/terminals.ts'
import type { Composition } from './data.ts'
import { composeImports, type ImportServices } from './imports.ts'

type MayChange = PersonGitOptions['requireMayChange']

export type WorkspaceServices = ImportServices & {
  files: SessionFiles
  fileSearch: FileSearch
  checkpoints: Checkpoints
  processes: ProcessRegistry
  terminals: Terminals
  startingFacts: (home: Home, workspace: string) => Promise<StartingFacts>
  /** What a terminal of the person runs. */
  personShell: (home: Home) => PersonShell
  /** Git as the person runs it, in a workspace. */
  personGit: (home: Home, root: string, mayChange?: MayChange) => Promise<PersonGit>
}

export const composeWorkspaces = (
  composition: Composition,
  { hostSessions }: { hostSessions: HostSessions },
): WorkspaceServices => {
  const { config, log, clock, data } = composition
  const { homes, hub, sessions, workspaces } = data
  const files = createSessionFiles({
    config,
    clock,
    sessionOf(asking, id) {
      const row = sessions.row(id)
      const home = row ? homes.of(row.profile) : homes.of(asking.name)
      const workspace = row ? row.workspace : hostSessions.workspaceOf(home, id)
      if (workspace === undefined) throw missing('Session not found', { code: 'session_not_found' })
      return { home, workspace: workspace || workspaces.defaultOf(home) }
    },
    pathsOfOtherProfiles: home => otherHomePaths(homes, homes.of(home.name)),
  })
  const checkpoints = createCheckpoints({
    boundsOf: (home, workspace) => files.areas.scopeFor(home, workspace),
    path: config.env.PATH,
    clock,
    resolve: sessions.resolve,
    log: log.warn,
  })
  const processes = createProcessRegistry({
    clock,
    resolve: sessions.resolve,
    endOthers: () => endDetached(config.env[MARK_VARIABLE]),
    onEnded: (session_id, { command, exit_code }) =>
      hub.publish('notices', {
        type: 'notice',
        data: {
          level: exit_code === 0 ? 'info' : 'warn',
          message: `Exited with code ${exit_code}: ${redact(command).slice(0, 200)}`,
          code: 'process_ended',
          values: { code: exit_code ?? '?', command: redact(command).slice(0, 200) },
          session_id,
        },
      }),
  })
  const fileSearch = createFileSearch(listFiles, clock)
  const terminals = createTerminals({
    clock,
    path: config.env.PATH,
    isEnabled: config.hasTerminal,
    resolve: sessions.resolve,
  })
  const startingFacts = new StartingFactsCache(clock, {
    path: config.env.PATH,
    userHome: config.userHome,
  })
  const shellOf = (home: Home) => personShell(home.childEnv(), config.userHome)
  return {
    ...composeImports(composition, files),
    files,
    startingFacts: (home, workspace) => startingFacts.of(files.areas.scopeFor(home, workspace)),
    fileSearch,
    checkpoints,
    processes,
    terminals,
    personShell: shellOf,
    personGit: (home, root, requireMayChange) =>
      openPersonGit(root, { env: shellOf(home).env, requireMayChange }),
  }
}
