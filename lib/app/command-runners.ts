/** Composition: where the commands of a turn run. */
import type { Sentence } from '../base/sentences.ts'
import { isAbsolute, join } from 'node:path'
import type { CommandRunner } from '../agent/tool-services.ts'
import type { Config } from '../config.ts'
import type { Home } from '../profiles/home.ts'
import type { Homes } from '../profiles/homes.ts'
import type { LanguageServers } from '../diagnostics/diagnostics.ts'
import type { Availability } from '../sandbox/availability.ts'
import { initFilePaths } from '../profiles/init-files.ts'
import { workspaceProblem } from '../sandbox/mounts.ts'
import { createSandboxes, type SandboxScope } from '../sandbox/sandboxes.ts'
import type { TurnContextOptions } from '../turn-context/turn-context.ts'
import { controlFiles } from '../turn-context/control-files.ts'
import { hookScripts } from '../turn-context/turn-hooks.ts'

export type RunnerScope = {
  home: Home
  /** The directory that commands may change; null for scripts of scheduled tasks, which have none. */
  workspace: string | null
  /** The session, or the scheduled task whose script runs: what keeps a place of its own. */
  owner: string
  /** More paths that commands may read, such as stored results of the session. */
  readable?: readonly string[]
}

/**
 * A sandbox where `sandbox.enabled` is on, a container where `terminal.backend` names one. Undefined: commands run
 * directly on this computer.
 */
export type RunnerFor = (scope: RunnerScope) => CommandRunner | undefined

export type CommandRunners = {
  runnerFor: RunnerFor
  /** Whether commands of this home run in a sandbox, if their workspace can be protected. */
  isSandboxed: (home: Home) => boolean
  /** Why commands of this workspace run directly although a sandbox is wanted wherever it works; null: they do not, or none is. */
  whyDirect: (scope: RunnerScope) => Sentence | null
  /** Resolves when `sandbox.enabled: auto` has an answer. Never rejects. */
  ready: Promise<void>
  /** Checks whether a sandbox works here now, whether it is on or not. */
  checkSandbox: () => Promise<Availability>
  /** Ends what still runs and removes what was created. */
  close: () => Promise<void>
}

export type CommandRunnersOptions = {
  config: Pick<Config, 'env' | 'baseHome' | 'stateDir' | 'looksForSandbox'>
  homes: Pick<Homes, 'list'>
  /** Files that decide about the agent. */
  controlOf: (home: Home, workspace: string) => string[]
}

/** The files that decide about the agent, for a home and a workspace. */
export const createControlOf =
  (config: Pick<Config, 'baseHome' | 'stateDir' | 'userHome'>) =>
  (home: Home, workspace: string): string[] =>
    controlFiles({
      home: home.dir,
      baseHome: config.baseHome,
      stateDir: config.stateDir,
      userHome: config.userHome,
      shellInitFiles: initFilePaths(home.lenient.settings().terminal, home.lenient.env().HOME),
      hookScripts: hookScripts(home, workspace),
      program: process.argv[1] ?? process.execPath,
    })

/** A path of config.yaml: `~` is the home directory of commands, a relative path starts at the profile's home. */
const expandPath = (path: string, home: Home, userHome: string): string => {
  const expanded = path.replace(/^~(?=$|\/)/, () => userHome)
  return isAbsolute(expanded) ? expanded : join(home.dir, expanded)
}

/** The paths of `sandbox.hidden`, which file tools must not access either. Empty where the sandbox is turned off. */
export const hiddenBySandbox = (home: Home): string[] => {
  const { sandbox } = home.settings()
  const userHome = home.env().HOME ?? ''
  return sandbox.enabled !== false
    ? sandbox.hidden.map(path => expandPath(path, home, userHome))
    : []
}

export const createCommandRunners = ({
  config,
  homes,
  controlOf,
}: CommandRunnersOptions): CommandRunners => {
  const sandboxes = createSandboxes(config.env)
  const wanted = (home: Home) => {
    const { enabled } = home.settings().sandbox
    return enabled === 'auto' && !config.looksForSandbox ? false : enabled
  }
  const isSandboxed = (home: Home): boolean => {
    const asked = wanted(home)
    return asked === 'auto' ? !sandboxes.problem() : asked
  }

  const scopeFor = ({ home, workspace, owner, readable = [] }: RunnerScope): SandboxScope => {
    const { sandbox, skills } = home.settings()
    const env = home.childEnv()
    const expand = (path: string) => expandPath(path, home, env.HOME ?? '')
    return {
      workspace,
      owner,
      env,
      network: sandbox.network,
      hidden: [
        config.baseHome,
        config.stateDir,
        ...homes.list().map(({ dir }) => dir),
        ...hiddenBySandbox(home),
      ],
      // Patterns name the scripts of skills, which are read-only anyway.
      protected: controlOf(home, workspace ?? join(home.dir, 'scripts')).filter(
        path => !path.includes('/**/'),
      ),
      readable: [
        join(home.dir, 'skills'),
        ...skills.external_dirs.map(expand),
        ...readable,
        ...sandbox.readable.map(expand),
      ],
      writable: sandbox.writable.map(expand),
    }
  }

  /** Beside the rest of the start. */
  const lookForSandbox = async (): Promise<void> => {
    const isWanted = homes.list().some(({ lenient }) => lenient.settings().sandbox.enabled)
    if (isWanted && config.looksForSandbox) await sandboxes.availability()
  }

  const whyDirect = (scope: RunnerScope): Sentence | null =>
    wanted(scope.home) === 'auto'
      ? (sandboxes.problem() ?? workspaceProblem(scopeFor(scope)))
      : null

  return {
    // Where nobody asked for a sandbox, a workspace that it cannot protect is as on a computer without one.
    runnerFor: scope =>
      isSandboxed(scope.home) && whyDirect(scope) === null
        ? sandboxes.runnerFor(scopeFor(scope))
        : undefined,
    isSandboxed,
    whyDirect,
    ready: lookForSandbox(),
    checkSandbox: sandboxes.recheck,
    close: async () => sandboxes.close(),
  }
}

/** Where the commands of a turn run, and the language servers that check its edits, in the same place. */
export const commandsOf = (
  { runnerFor }: Pick<CommandRunners, 'runnerFor'>,
  { checkFor }: LanguageServers,
  { outsideSandbox }: Pick<Config, 'outsideSandbox'>,
): Pick<TurnContextOptions, 'runnerFor' | 'commandsFor' | 'outsideSandbox'> => ({
  runnerFor,
  outsideSandbox,
  commandsFor({ env, ...scope }) {
    const { home, workspace, owner } = scope
    const runner = runnerFor(scope)
    const { lsp } = home.settings()
    const checkEdits = checkFor({ workspace, owner, env, runner, settings: lsp })
    return { runner, ...(lsp.enabled && { checkEdits }) }
  },
})
