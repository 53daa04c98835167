/** Runs the commands of a turn in a container (`terminal.backend: docker` or `podman`). */
import { sentence } from '../../base/sentences.ts'
import { NO_TERMINAL_ENV } from '../../base/no-terminal-env.ts'
import { shellQuote } from '../../base/shell-quote.ts'
import { randomBytes } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CommandPlacement, CommandRunner, PlacedProgram } from '../../agent/tool-services.ts'
import { killGroup, type OnEnd } from '../../base/process.ts'
import { unavailable, wordsOf } from '../../errors.ts'
import { isInside } from '../../store/path-within.ts'
import type { Container, Running } from './container.ts'
import type { Shown } from './container-files.ts'
import type { ContainerRequest, Containers } from './containers.ts'
import { CONTAINER_HOME } from './run-arguments.ts'
import { AROUND, ENTER, MARK } from './scripts.ts'
import type { ContainerSettings, Engine } from './settings.ts'

type Env = Readonly<Record<string, string>>

export type RunnerOptions = {
  containers: Pick<Containers, 'of' | 'cleanUp'>
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
  shows: (readable: readonly string[]) => readonly Shown[]
  /** The environment that commands would have on this computer. Only what a command changes in it goes along. */
  env: Env
  /** Values for `docker_forward_env`, and what else of this computer commands get. */
  forwarded: (names: readonly string[]) => Env
  /** A Git directory that a command may change, made in a directory that the container shows. Null: there is no repository. */
  privateGit?: (parent: string) => { env: Env; finish: OnEnd } | null
  log: (line: string, extra?: Record<string, unknown>) => void
}

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

export const createContainerRunner = (options: RunnerOptions): CommandRunner => {
  const { containers, home, workspace, env: turnEnv, forwarded, log, engine } = options

  const planFor = (more: readonly string[]): ContainerRequest => {
    const readable = [...options.readable, ...more].filter(path => !isInside(workspace, path))
    return {
      home,
      settings: options.settings(),
      workspace,
      readable: readable.toSorted(),
      shows: () => options.shows(readable),
      env: turnEnv,
    }
  }
  const containerFor = (readable: readonly string[] = []): Container =>
    containers.of(planFor(readable))

  const ensure = async (container: Container): Promise<Running> => {
    await containers.cleanUp(home, options.settings(), turnEnv)
    return container.ensure()
  }

  /** What every command starts with. */
  const ownEnv = ({ env }: Running, given: Env): Env => {
    const { forwards, env: configured } = options.settings()
    const facts = Object.fromEntries(Object.entries(given).filter(([name]) => belongsInside(name)))
    return { ...env, HOME: CONTAINER_HOME, ...facts, ...forwarded(forwards), ...configured }
  }

  const envOf = (running: Running, given: Env): Env => {
    const own = ownEnv(running, given)
    // A value of this computer, such as PATH, means nothing in the container; one that a command was given does.
    const added = Object.entries(given).filter(
      ([name, value]) => value !== turnEnv[name] && value !== own[name],
    )
    return { ...own, ...Object.fromEntries(added) }
  }

  const requirePlace = (container: Container, cwd: string): void => {
    if (
      !container.places().some(({ source, target }) => source === target && isInside(source, cwd))
    )
      throw unavailable(sentence('container.folder', { folder: cwd, workspace: workspace ?? '' }))
  }

  const containerNow = (): Container | null => {
    try {
      return containerFor()
    } catch {
      // `problem` says which setting is not understood. Until it is, nothing runs, so there is no container.
      return null
    }
  }

  const signaler = (container: Container, mark: string): PlacedProgram['onSignal'] => {
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
          log('a command in a container could not be ended, so its container was', {
            error: wordsOf(error),
          })
          await container.kill()
        })
        .catch((error: unknown) => log('a container did not end', { error: wordsOf(error) }))
        .then(() => {
          // The docker program has no more to wait for, but may hang with its service.
          if (signal === 'SIGKILL') killGroup({ pid }, signal)
        })
      return true
    }
  }

  const place = async (placement: CommandPlacement): Promise<PlacedProgram> => {
    const { program, cwd, hasInput, hasReport, readable, changesGit } = placement
    const container = containerFor(readable)
    const running = await ensure(container)
    requirePlace(container, cwd)
    const mark = randomBytes(12).toString('hex')
    const file = join(container.exchange(), `env-${mark}`)
    const report = hasReport ? join(container.exchange(), `report-${mark}`) : ''
    // Its directory is private on this computer. The user of the image may not be this one.
    const git = changesGit ? (options.privateGit?.(container.exchange()) ?? null) : null
    const variables = { ...envOf(running, placement.env), ...git?.env }
    writeFileSync(file, exportsOf(variables), { mode: 0o644, flag: 'wx' })
    const { cli } = running
    const inside = ['sh', '-c', ENTER, 'sh', file, cwd, report, program.file, ...program.args]
    const exec = ['exec', ...(hasInput ? ['-i'] : []), '-e', `${MARK}=${mark}`, container.name]
    return {
      file: '/bin/sh',
      args: ['-c', AROUND, 'sh', file, report, cli.program, ...exec, ...inside],
      cwd: '/',
      env: turnEnv,
      onSignal: signaler(container, mark),
      ...(git && { onEnd: git.finish }),
    }
  }

  return {
    kind: engine,
    note: NOTE,
    network: options.hasNetwork,
    sharesFolders: options.sharesFolders,
    hasOwnSystem: true,
    async problem() {
      try {
        await ensure(containerFor())
        return null
      } catch (error) {
        return wordsOf(error)
      }
    },
    environment(given) {
      const known = containerNow()?.known()
      return known ? ownEnv(known, given) : given
    },
    sharedDir: () => containerFor().shared(),
    hostPath(path) {
      const found = containerNow()
        ?.places()
        .find(({ target }) => path === target || path.startsWith(`${target}/`))
      return found ? `${found.source}${path.slice(found.target.length)}` : path
    },
    place,
  }
}
