/** Composition: commands in containers, where `terminal.backend` of a home asks for them. */
import { existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { CommandRunner } from '../agent/tool-services.ts'
import { asObject, isObject } from '../base/json.ts'
import type { Config } from '../config.ts'
import type { ContainerMount } from '../commands/containers/container-files.ts'
import { Containers } from '../commands/containers/containers.ts'
import { ContainerRunner } from '../commands/containers/runner.ts'
import {
  type ContainerSettings,
  type Engine,
  engineOf,
  readContainerSettings,
} from '../commands/containers/settings.ts'
import { messageOf } from '../errors.ts'
import type { Home } from '../profiles/home.ts'
import { gitDirectories } from '../commands/sandbox/git-directories.ts'
import {
  privateGitFor,
  repositoriesInIndex,
  variablesFor,
} from '../commands/sandbox/private-git.ts'
import { PROTECTED_IN_WORKSPACE } from '../commands/sandbox/special-paths.ts'
import { gitIn } from '../commands/sandbox/mounts.ts'
import { isInside, realPath } from '../store/path-within.ts'
import { protectedPaths } from '../store/state-files.ts'
import { yamlFlag } from '../store/yaml-file.ts'
import { controlPathsOf } from '../turns/context/control-files.ts'
import type { Log } from '../turns/context/services.ts'
import type { RunnerScope } from '../commands/commands.ts'

/** `terminal.backend`, its older name, or the variable of the command line. */
export const containerEngine = (home: Home): Engine | null => {
  const { backend, env_type } = asObject(home.values().terminal)
  const setting = [backend, env_type, home.env().TERMINAL_ENV].find(
    value => value !== undefined && value !== null && value !== '' && value !== false,
  )
  return engineOf(setting)
}

const isSet = (list: unknown): boolean =>
  Array.isArray(list) ? list.length > 0 : list !== undefined && list !== null && list !== ''

/** Throws a sentence: why no command can run, and what to do. */
export const containerSettings = (
  home: Home,
  engine: Engine,
  userHome: string,
): ContainerSettings => {
  const { terminal, sandbox } = home.values()
  const isSandboxed = yamlFlag(isObject(sandbox) ? sandbox.enabled : sandbox)
  if (isSandboxed === true)
    throw new Error(
      'sandbox.enabled is on, but terminal.backend asks for a container, and only one of them can run commands. Switch one off.',
    )
  const variable = Object.keys(home.env()).find(name =>
    /^TERMINAL_(?:DOCKER|CONTAINER)_/.test(name),
  )
  if (variable !== undefined)
    throw new Error(
      `${variable} is set as a variable, but this service reads settings of containers from config.yaml only. Write terminal.${variable.replace('TERMINAL_', '').toLowerCase()} there, and remove the variable.`,
    )
  return readContainerSettings(asObject(terminal), { dir: home.dir, userHome, engine })
}

/** In a container, everything in the workspace can change, so it must not contain what other programs trust. */
const requireProject = (workspace: string, trustedPaths: readonly string[]): void => {
  const contained = trustedPaths.find(path => isInside(workspace, path))
  if (contained !== undefined)
    throw new Error(
      `A container can't be given the workspace ${workspace}, because it contains ${contained}. Choose a folder with only the files of the project.`,
    )
}

/** The workspace, and what must not change or be read in it. */
export const shownIn = (
  workspace: string,
  readable: readonly string[],
  { control, hidden }: { control: readonly string[]; hidden: readonly string[] },
): ContainerMount[] => {
  const same = (path: string): ContainerMount => ({ source: path, target: path })
  const within = (paths: readonly string[]) =>
    paths.map(path => realPath(path)).filter(path => existsSync(path) && isInside(workspace, path))
  const git = gitDirectories(workspace, [], [])
  const nested = git?.repository ? repositoriesInIndex(git.repository) : []
  return [
    same(workspace),
    ...readable.map(path => {
      // Stored results of the session may not exist yet, and cannot be mounted later.
      mkdirSync(path, { recursive: true, mode: 0o700 })
      return { ...same(realPath(path)), isReadOnly: true }
    }),
    // What runs outside the container without being started by the user, or with any Git command.
    ...within([
      ...control,
      ...PROTECTED_IN_WORKSPACE.map(name => join(workspace, name)),
      ...(git?.paths ?? []),
      ...nested.map(path => gitIn(join(workspace, path))),
    ]).map(path => ({ ...same(path), isReadOnly: true })),
    ...within(hidden).map(path => ({ ...same(path), isHidden: true })),
  ]
}

export class ContainerRunners {
  readonly #config: Config
  readonly #containers: Containers
  readonly #warn: Log['warn']

  constructor(config: Config, clock: Clock, warn: Log['warn']) {
    this.#config = config
    this.#containers = new Containers(clock, warn)
    this.#warn = warn
  }

  /** Undefined: the home asks for no container. */
  runnerFor(scope: RunnerScope): CommandRunner | undefined {
    const { userHome, baseHome, stateDir } = this.#config
    const { home } = scope
    const engine = containerEngine(home)
    if (engine === null) return undefined
    const workspace = realPath(scope.workspace ?? join(home.dir, 'scripts'))
    const trustedPaths = [userHome, baseHome, home.dir, stateDir].map(path => realPath(path))
    const terminal = asObject(home.values().terminal)
    const values = (names: readonly string[]) =>
      Object.fromEntries(Object.entries(home.env()).filter(([name]) => names.includes(name)))
    return new ContainerRunner({
      containers: this.#containers,
      home: home.dir,
      engine,
      hasNetwork: yamlFlag(terminal.docker_network) !== false,
      sharesFolders: isSet(terminal.docker_volumes) || isSet(terminal.docker_extra_args),
      settings() {
        requireProject(workspace, trustedPaths)
        return containerSettings(home, engine, userHome)
      },
      workspace,
      readable: scope.readable ?? [],
      shows: readable =>
        scope.workspace === null
          ? [{ source: workspace, target: workspace, isReadOnly: true }]
          : shownIn(workspace, readable, {
              control: controlPathsOf(this.#config, home, workspace).filter(
                path => !path.includes('/**/'),
              ),
              hidden: protectedPaths(stateDir),
            }),
      env: home.childEnv(),
      privateGitFor(parent) {
        const git = gitDirectories(workspace, [], [])
        // That of a linked worktree is outside the workspace, which a container does not see.
        if (!git?.repository || git.repository.worktree !== null || git.root !== workspace)
          return null
        const privateGit = privateGitFor(git.repository, {
          visibleAt: git.repository.common,
          parent,
        })
        return { env: variablesFor(git, privateGit.dir), finish: privateGit.finish }
      },
      forwarded: names => values([...names, ...home.config().terminal.env_passthrough]),
      log: this.#warn,
    })
  }

  /** Removes what a killed process has left, for homes that use containers. Never rejects. */
  async cleanUp(homes: readonly Home[]): Promise<void> {
    for (const home of homes) {
      // While one of its files cannot be read, it is not known whether the home uses containers; that is reported elsewhere.
      if (home.problems().length > 0) continue
      try {
        const engine = containerEngine(home)
        if (engine === null) continue
        const settings = containerSettings(home, engine, this.#config.userHome)
        await this.#containers.cleanUp(home.dir, settings, home.childEnv())
      } catch (error) {
        const about = { error: messageOf(error) }
        this.#warn('could not remove the containers of an earlier process', about)
      }
    }
  }

  close(): Promise<void> {
    return this.#containers.close()
  }
}
