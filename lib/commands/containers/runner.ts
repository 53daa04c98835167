/** Runs the commands of a turn in a container (`terminal.backend: docker` or `podman`). */
import { sentence, type Words } from '../../base/sentences.ts'
import { NO_TERMINAL_ENV } from '../../base/no-terminal-env.ts'
import { shellQuote } from '../../base/shell-quote.ts'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import type { CommandPlacement, CommandRunner, PlacedProgram } from '../../agent/tool-services.ts'
import { killGroup, type OnEnd } from '../../base/process.ts'
import { messageOf, unavailable, wordsOf } from '../../errors.ts'
import { isBelow, isInside } from '../../store/path-within.ts'
import type { Container, RunningContainer } from './container.ts'
import type { ContainerMount } from './container-files.ts'
import type { ContainerRequest, Containers } from './containers.ts'
import { CONTAINER_HOME } from './run-arguments.ts'
import { AROUND, ENTER, MARK } from './scripts.ts'
import type { ContainerSettings, Engine } from './settings.ts'

type Env = Readonly<Record<string, string>>

const VARIABLE = /^[A-Za-z_]\w*$/
/** Facts about the session, with which programs of this service and of the host agent find it. */
const ABOUT_SESSION = /^(?:AGENT_\w+|HERMES_\w+|TERMINAL_CWD|TZ)$/
const belongsInside = (name: string): boolean =>
  ABOUT_SESSION.test(name) || Object.hasOwn(NO_TERMINAL_ENV, name)

/** A file that a shell reads. The environment is passed this way because arguments are visible to every user. */
const exportsOf = (env: Env): string =>
  Object.entries(env)
    .filter(([name, value]) => VARIABLE.test(name) && !value.includes('\0'))
    .map(([name, value]) => `export ${name}=${shellQuote(value)}\n`)
    .join('')

/** The same bytes for every image and engine. */
const NOTE =
  'Commands run in a container: only the workspace and configured volumes are those of this computer, and its programs and home directory are its own.'

export type RunnerOptions = {
  containers: Containers
  /** The home of the profile. */
  home: string
  engine: Engine
  hasNetwork: boolean
  /** Commands can change folders of this computer besides the workspace, or what they can reach is not known. */
  sharesFolders: boolean
  /** Throws a sentence that names the key which is not understood. Called at each use: the file may change. */
  settings: () => ContainerSettings
  workspace: string
  /** Folders that commands may read, such as stored results of the session. */
  readable: readonly string[]
  /** What of this computer the container shows, with these paths besides the workspace. Evaluated when it is created. */
  shows: (readable: readonly string[]) => readonly ContainerMount[]
  /** The environment that commands would have on this computer. Only what a command changes in it goes along. */
  env: Env
  /** Values for `docker_forward_env`, and what else of this computer commands get. */
  forwarded: (names: readonly string[]) => Env
  /** A Git directory that a command may change, made in a directory that the container shows. Null: there is no repository. */
  privateGitFor?: (parent: string) => { env: Env; finish: OnEnd } | null
  log: (line: string, extra?: Record<string, unknown>) => void
}

export class ContainerRunner implements CommandRunner {
  readonly #options: RunnerOptions
  readonly kind: Engine
  readonly note = NOTE
  readonly network: boolean
  readonly sharesFolders: boolean
  readonly hasOwnSystem = true

  constructor(options: RunnerOptions) {
    this.#options = options
    this.kind = options.engine
    this.network = options.hasNetwork
    this.sharesFolders = options.sharesFolders
  }

  #planFor(more: readonly string[]): ContainerRequest {
    const readable = [...this.#options.readable, ...more].filter(
      path => !isInside(this.#options.workspace, path),
    )
    return {
      home: this.#options.home,
      settings: this.#options.settings(),
      workspace: this.#options.workspace,
      readable: readable.toSorted(),
      shows: () => this.#options.shows(readable),
      env: this.#options.env,
    }
  }

  #containerFor(readable: readonly string[] = []): Container {
    return this.#options.containers.of(this.#planFor(readable))
  }

  async #ensure(container: Container): Promise<RunningContainer> {
    await this.#options.containers.cleanUp(
      this.#options.home,
      this.#options.settings(),
      this.#options.env,
    )
    return container.ensure()
  }

  /** What every command starts with. */
  #ownEnv({ env }: RunningContainer, outer: Env): Env {
    const { forwards, env: configured } = this.#options.settings()
    const facts = Object.fromEntries(Object.entries(outer).filter(([name]) => belongsInside(name)))
    return {
      ...env,
      HOME: CONTAINER_HOME,
      ...facts,
      ...this.#options.forwarded(forwards),
      ...configured,
    }
  }

  #envOf(running: RunningContainer, outer: Env): Env {
    const own = this.#ownEnv(running, outer)
    // A value of this computer, such as PATH, means nothing in the container; one that a command was given does.
    const extra = Object.entries(outer).filter(
      ([name, value]) => value !== this.#options.env[name] && value !== own[name],
    )
    return { ...own, ...Object.fromEntries(extra) }
  }

  #requirePlace(container: Container, cwd: string): void {
    if (
      !container.places().some(({ source, target }) => source === target && isInside(source, cwd))
    )
      throw unavailable(
        sentence('container.folder', { folder: cwd, workspace: this.#options.workspace ?? '' }),
      )
  }

  #containerNow(): Container | null {
    try {
      return this.#containerFor()
    } catch {
      // `problem` says which setting is not understood. Until it is, nothing runs, so there is no container.
      return null
    }
  }

  #signaler(container: Container, mark: string): PlacedProgram['onSignal'] {
    // One after the other: a SIGTERM must not arrive after the SIGKILL.
    let last: Promise<unknown> = Promise.resolve()
    return (pid, signal) => {
      const deliver = async (): Promise<void> => {
        if (!(await container.signal(mark, signal))) throw new Error('the signal had no effect')
      }
      last = last
        .then(deliver)
        .catch(async (error: unknown) => {
          if (signal !== 'SIGKILL') return
          this.#options.log('a command in a container could not be ended, so its container was', {
            error: messageOf(error),
          })
          await container.kill()
        })
        .catch((error: unknown) =>
          this.#options.log('a container did not end', { error: messageOf(error) }),
        )
        .then(() => {
          // The docker program has no more to wait for, but may hang with its service.
          if (signal === 'SIGKILL') killGroup({ pid }, signal)
        })
      return true
    }
  }

  async place(placement: CommandPlacement): Promise<PlacedProgram> {
    const { program, cwd, hasInput, hasReport, readable, changesGit } = placement
    const container = this.#containerFor(readable)
    const running = await this.#ensure(container)
    this.#requirePlace(container, cwd)
    const mark = randomBytes(12).toString('hex')
    const file = join(container.exchange(), `env-${mark}`)
    const report = hasReport ? join(container.exchange(), `report-${mark}`) : ''
    // Its directory is private on this computer. The user of the image may not be this one.
    const git = changesGit ? (this.#options.privateGitFor?.(container.exchange()) ?? null) : null
    const variables = { ...this.#envOf(running, placement.env), ...git?.env }
    writeFileSync(file, exportsOf(variables), { mode: 0o644, flag: 'wx' })
    const { cli } = running
    const inside = ['sh', '-c', ENTER, 'sh', file, cwd, report, program.file, ...program.args]
    const exec = ['exec', ...(hasInput ? ['-i'] : []), '-e', `${MARK}=${mark}`, container.name]
    return {
      file: '/bin/sh',
      args: ['-c', AROUND, 'sh', file, report, cli.program, ...exec, ...inside],
      cwd: '/',
      env: this.#options.env,
      onSignal: this.#signaler(container, mark),
      ...(git && { onEnd: git.finish }),
    }
  }

  async problem(): Promise<Words | null> {
    try {
      await this.#ensure(this.#containerFor())
      return null
    } catch (error) {
      return wordsOf(error)
    }
  }

  environment(outer: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    const running = this.#containerNow()?.current()
    return running ? this.#ownEnv(running, outer) : outer
  }

  sharedDir(): string {
    return this.#containerFor().shared()
  }

  hostPath(path: string): string {
    const place = this.#containerNow()
      ?.places()
      .find(({ target }) => isBelow(target, path))
    return place ? join(place.source, relative(place.target, path)) : path
  }
}
