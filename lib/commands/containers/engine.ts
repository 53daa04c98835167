/** The docker or podman program: found, run within limits, and its errors as sentences. */
import { sentence, type Words } from '../../base/sentences.ts'
import { toSeconds } from '../../base/clock.ts'
import { findProgram } from '../../base/find-program.ts'
import { run, type RunResult } from '../../base/process.ts'
import { messageOf, unavailable } from '../../errors.ts'
import type { Engine } from './settings.ts'

type Env = Readonly<Record<string, string>>

/** Docker Desktop on macOS may not be on the PATH of a service. */
const MORE_DIRECTORIES =
  process.platform === 'darwin'
    ? ':/usr/local/bin:/opt/homebrew/bin:/Applications/Docker.app/Contents/Resources/bin'
    : ''

const QUERY_TIMEOUT_MS = 20_000

export type EngineCli = {
  /** Its path. */
  program: string
  /** What it really is: a program named docker may be podman. */
  engine: Engine
  /** Rejects with a sentence when the service of the engine cannot be reached. Other failures are in the result. */
  run: (args: readonly string[], timeoutMs?: number, signal?: AbortSignal) => Promise<RunResult>
}

const NAMES: Readonly<Record<Engine, string>> = { docker: 'Docker', podman: 'Podman' }

const isUnreachable = (stderr: string): boolean =>
  /cannot connect to the docker daemon|is the docker daemon running|error during connect|trying to connect to the docker|(?:cannot|unable to) connect to podman|dial unix|connection refused/i.test(
    stderr,
  )

export const isMissingImage = (stderr: string): boolean =>
  /no such image|image not known|unable to find image/i.test(stderr)

export const isNameTaken = (stderr: string): boolean => /already in use/i.test(stderr)

export const isLimitUnsupported = (stderr: string): boolean =>
  /cgroup|cpus?-?quota|NanoCPUs|memory limit|pids/i.test(stderr)

export const isDiskLimitUnsupported = (stderr: string): boolean =>
  /storage-?opt|storage option|pquota|quota/i.test(stderr)

/** The line of an error that says what is wrong, without what only a terminal user can use, and without a full stop. */
export const reasonIn = (stderr: string): Words => {
  const all = stderr.split('\n').map(line => line.trim())
  const lines = all.filter(line => line !== '' && !/^(?:Run|See) '/.test(line))
  const text =
    lines.findLast(line => /error|denied|cannot|failed/i.test(line)) ?? lines.at(-1) ?? ''
  const cause = text.replace(/^(?:docker: |Error: )+/i, '').slice(0, 400)
  return (
    cause.replace(/[.\s]*(?:Is the docker daemon running\?)?[.\s]*$/, '') ||
    sentence('container.no_reason')
  )
}

const unreachable = (engine: Engine, reason: Words) =>
  unavailable(sentence('container.unreachable', { engine: NAMES[engine], reason }))

const candidates = (env: Env, engine: Engine): string[] => {
  const path = `${env.PATH ?? ''}${MORE_DIRECTORIES}`
  // The host agent's name for it.
  const binary = env.HERMES_DOCKER_BINARY
  const names = engine === 'docker' ? [...(binary ? [binary] : []), 'docker', 'podman'] : ['podman']
  return names.flatMap(name => findProgram(path, name) ?? [])
}

/** Throws a sentence when no program is installed. */
const findEngine = (env: Env, engine: Engine): string => {
  const [program] = candidates(env, engine)
  if (program !== undefined) return program
  throw unavailable(sentence(engine === 'docker' ? 'container.no_engine' : 'container.no_podman'))
}

/** Rejects with a sentence when the program or its service cannot be used. */
export const openEngine = async (env: Env, choice: Engine): Promise<EngineCli> => {
  const program = findEngine(env, choice)
  const runProgram = (args: readonly string[], timeoutMs: number, signal?: AbortSignal) =>
    run(program, args, { cwd: '/', env, timeoutMs, signal }).catch((error: unknown) => {
      throw unavailable(sentence('container.not_started', { program, reason: messageOf(error) }))
    })
  const version = await runProgram(['--version'], QUERY_TIMEOUT_MS)
  const engine: Engine = /podman/i.test(version.stdout.toString()) ? 'podman' : 'docker'
  const cli: EngineCli = {
    program,
    engine,
    async run(args, timeoutMs = QUERY_TIMEOUT_MS, signal) {
      const result = await runProgram(args, timeoutMs, signal)
      if (result.stopped === 'timeout')
        throw unreachable(
          engine,
          sentence('container.slow', { command: args[0] ?? '', seconds: toSeconds(timeoutMs) }),
        )
      if (result.code !== 0 && isUnreachable(result.stderr))
        throw unreachable(engine, reasonIn(result.stderr))
      return result
    },
  }
  const reached = await cli.run(['version', '--format', '{{.Server.Version}}'])
  // Podman without a server has no such field, and needs none.
  if (reached.code !== 0 && engine === 'docker') throw unreachable(engine, reasonIn(reached.stderr))
  return cli
}

/** Whether root inside is the user of this computer, who then owns what is created. */
export const isRootless = async ({ engine, run: query }: EngineCli): Promise<boolean> => {
  const format = engine === 'podman' ? '{{.Host.Security.Rootless}}' : '{{json .SecurityOptions}}'
  const { code, stdout } = await query(['info', '--format', format])
  return code === 0 && /true|name=rootless/.test(stdout.toString())
}
