/** Composition: where the commands of a turn run. */
import type { Sentence } from '../base/sentences.ts'
import { join } from 'node:path'
import type { CommandRunner } from '../agent/tool-services.ts'
import type { Commands, RunnerScope } from '../commands/commands.ts'
import type { Availability } from '../commands/sandbox/availability.ts'
import { workspaceProblem } from '../commands/sandbox/mounts.ts'
import { Sandboxes, type SandboxScope } from '../commands/sandbox/sandboxes.ts'
import type { Config } from '../config.ts'
import type { Home } from '../profiles/home.ts'
import type { Homes } from '../profiles/homes.ts'
import { controlPathsOf, expandPath, hiddenBySandbox } from '../turns/context/control-files.ts'
import type { ContainerRunners } from './container-runners.ts'

export class CommandRunners implements Commands {
  readonly ready: Promise<void>
  readonly #config: Config
  readonly #homes: Homes
  readonly #containers: ContainerRunners
  readonly #sandboxes: Sandboxes

  constructor(config: Config, homes: Homes, containers: ContainerRunners) {
    this.#config = config
    this.#homes = homes
    this.#containers = containers
    this.#sandboxes = new Sandboxes(config.env)
    this.ready = this.#lookForSandbox()
  }

  runnerFor(scope: RunnerScope): CommandRunner | undefined {
    const container = this.#containers.runnerFor(scope)
    if (container) return container
    // Where nobody asked for a sandbox, a workspace that it cannot protect is as on a computer without one.
    return this.isSandboxed(scope.home) && this.whyDirect(scope) === null
      ? this.#sandboxes.runnerFor(this.#scopeFor(scope))
      : undefined
  }

  isSandboxed(home: Home): boolean {
    const choice = this.#setting(home)
    return choice === 'auto' ? !this.#sandboxes.problem() : choice
  }

  whyDirect(scope: RunnerScope): Sentence | null {
    return this.#setting(scope.home) === 'auto'
      ? (this.#sandboxes.problem() ?? workspaceProblem(this.#scopeFor(scope)))
      : null
  }

  checkSandbox(): Promise<Availability> {
    return this.#sandboxes.recheck()
  }

  async close(): Promise<void> {
    await Promise.all([this.#containers.close(), this.#sandboxes.close()])
  }

  /** Beside the rest of the start. */
  async #lookForSandbox(): Promise<void> {
    const isWanted = this.#homes.list().some(({ lenient }) => lenient.config().sandbox.enabled)
    if (isWanted && this.#config.looksForSandbox) await this.#sandboxes.availability()
  }

  #setting(home: Home): boolean | 'auto' {
    const { enabled } = home.config().sandbox
    return enabled === 'auto' && !this.#config.looksForSandbox ? false : enabled
  }

  #scopeFor({ home, workspace, owner, readable = [] }: RunnerScope): SandboxScope {
    const { sandbox, skills } = home.config()
    const env = home.childEnv()
    const expand = (path: string) => expandPath(path, home, env.HOME ?? '')
    return {
      workspace,
      owner,
      env,
      network: sandbox.network,
      hidden: [
        this.#config.baseHome,
        this.#config.stateDir,
        ...this.#homes.list().map(({ dir }) => dir),
        ...hiddenBySandbox(home),
      ],
      // Patterns name the scripts of skills, which are read-only anyway.
      protected: controlPathsOf(this.#config, home, workspace ?? join(home.dir, 'scripts')).filter(
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
}
