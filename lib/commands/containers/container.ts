/** One container: started when a command needs it, checked before each command, removed at its end. */
import { sentence } from '../../base/sentences.ts'
import { existsSync } from 'node:fs'
import type { Clock } from '../../base/clock.ts'
import { unavailable } from '../../errors.ts'
import {
  type EngineCli,
  isDiskLimitUnsupported,
  isLimitUnsupported,
  isNameTaken,
  isRootless,
  reasonIn,
} from './engine.ts'
import type { Images } from './image.ts'
import { createContainerFiles, type Shown } from './container-files.ts'
import { type Mount, runArguments } from './run-arguments.ts'
import { DESCRIBE, SIGNAL } from './scripts.ts'
import type { ContainerSettings } from './settings.ts'

/** A check of the container is valid for this long. */
const CHECK_VALID_MS = 2_000
const START_TIMEOUT_MS = 120_000
const SIGNAL_TIMEOUT_MS = 15_000
/**
 * The host agent writes this value into every new config.yaml, and most storage drivers cannot apply it. So it is no wish
 * of the user: only another value refuses commands there.
 */
const USUAL_DISK_MB = 51_200

export const LABEL = 'agent-webui'

export type ContainerPlan = {
  name: string
  settings: ContainerSettings
  /** Real path, with the same name inside. */
  workspace: string
  /** More paths with the same name inside, read-only. */
  readable: readonly string[]
  /** What of this computer the container shows: the workspace, and what it must protect or hide there. */
  shows: () => readonly Shown[]
  labels: Readonly<Record<string, string>>
}

/** A container that runs. */
export type Running = {
  cli: EngineCli
  /** What programs start with. */
  env: Readonly<Record<string, string>>
  hasBash: boolean
}

/** Folders that are part of every image. */
const OF_IMAGE = /^\/(?:usr|bin|sbin|lib\d*|etc|proc|sys|dev|var|run|boot)?$/

export type ContainerServices = {
  clock: Clock
  images: Images
  warn: (line: string) => void
  /** Rejects with a sentence when it cannot be used. */
  engine: () => Promise<EngineCli>
}

export type Container = ReturnType<typeof createContainer>

export const createContainer = (
  { name, settings, workspace, shows, labels }: ContainerPlan,
  { clock, images, warn, engine: open }: ContainerServices,
) => {
  const files = createContainerFiles({ name, settings, workspace, shows })
  let cli: EngineCli | undefined
  let running: Running | undefined
  let checkedAt = Number.NEGATIVE_INFINITY
  let starting: Promise<Running> | undefined
  let lastUsed = clock.monotonic()

  const userOf = async (engine: EngineCli): Promise<{ user: string | null; more: string[] }> => {
    const own = `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`
    if (settings.runsAsHostUser === false) return { user: null, more: [] }
    const rootless = await isRootless(engine)
    if (!rootless) return { user: own, more: [] }
    // Without root, the user of this computer is root inside, unless the user wants to have the same number there.
    return settings.runsAsHostUser && engine.engine === 'podman'
      ? { user: own, more: ['--userns', 'keep-id'] }
      : { user: '0:0', more: [] }
  }

  /** Runs the container, without the limits that the system cannot apply, unless the file names them. */
  const create = async (engine: EngineCli): Promise<void> => {
    const { user, more } = await userOf(engine)
    const { named } = settings
    const limits = { hasLimits: true, hasDiskLimit: settings.diskMb > 0, hasTried: false }
    for (;;) {
      const args = runArguments({
        settings: { ...settings, extraArgs: [...more, ...settings.extraArgs] },
        name,
        labels: { ...labels, [`${LABEL}.dir`]: files.base() },
        mounts: files.mounts(),
        user,
        hasSelinux: existsSync('/sys/fs/selinux/enforce'),
        ...limits,
      })
      const { code, stderr } = await engine.run(args, START_TIMEOUT_MS)
      if (code === 0) return
      // A failed start may leave a container that was created.
      await engine.run(['rm', '--force', name])
      if (limits.hasDiskLimit && isDiskLimitUnsupported(stderr)) {
        if (named.has('container_disk') && settings.diskMb !== USUAL_DISK_MB)
          throw refusal('terminal.container_disk', stderr)
        if (named.has('container_disk'))
          warn(`the container runs without the limit terminal.container_disk: ${reasonIn(stderr)}`)
        limits.hasDiskLimit = false
      } else if (limits.hasLimits && isLimitUnsupported(stderr)) {
        if (named.has('container_cpu') || named.has('container_memory'))
          throw refusal('terminal.container_cpu or terminal.container_memory', stderr)
        warn(`the container runs without limits of CPU and memory: ${reasonIn(stderr)}`)
        limits.hasLimits = false
      } else if (isNameTaken(stderr) && !limits.hasTried) limits.hasTried = true
      else throw unavailable(sentence('container.no_start', { reason: reasonIn(stderr) }))
    }
  }

  const refusal = (keys: string, stderr: string) =>
    unavailable(sentence('container.limits', { keys, reason: reasonIn(stderr) }))

  const isRunning = async (engine: EngineCli): Promise<boolean | null> => {
    const { code, stdout } = await engine.run([
      'container',
      'inspect',
      '--format',
      '{{.State.Running}}',
      name,
    ])
    return code === 0 ? stdout.toString().trim() === 'true' : null
  }

  const describe = async (engine: EngineCli): Promise<Running> => {
    const { code, stdout, stderr } = await engine.run(['exec', name, 'sh', '-c', DESCRIBE])
    if (code !== 0) throw unavailable(sentence('container.no_shell', { reason: reasonIn(stderr) }))
    const [shell, ...lines] = stdout.toString().split('\n')
    const variables = lines.flatMap(line => {
      const [, key, value = ''] = /^([A-Za-z_]\w*)=(.*)$/.exec(line) ?? []
      return key === undefined || /^(?:_|PWD|OLDPWD|SHLVL)$/.test(key) ? [] : [[key, value]]
    })
    return { cli: engine, env: Object.fromEntries(variables), hasBash: shell === 'bash' }
  }

  const start = async (): Promise<Running> => {
    cli = await open()
    const state = await isRunning(cli)
    if (state && running) return running
    if (OF_IMAGE.test(workspace))
      throw unavailable(sentence('container.workspace', { folder: workspace }))
    await images.require(cli, settings.image)
    if (settings.outlasts) files.claim()
    if (state !== null && settings.outlasts) {
      const started = state ? null : await cli.run(['start', name], START_TIMEOUT_MS)
      if (started && started.code !== 0) {
        await cli.run(['rm', '--force', name])
        await create(cli)
      }
    } else {
      if (state !== null) await cli.run(['rm', '--force', name])
      await create(cli)
    }
    running = await describe(cli)
    return running
  }

  return {
    name,
    shared: () => files.dirs().shared,
    exchange: () => files.dirs().exchange,
    /** What it shows of this computer, for mapping paths; the deepest first. */
    places: (): Mount[] =>
      [
        ...files.mounts(),
        ...settings.volumes
          .filter(({ source }) => source.includes('/'))
          .map(({ source, target }) => ({ source, target })),
      ].sort((a, b) => b.target.length - a.target.length),
    /** Rejects with a sentence when it cannot run. Cheap while it runs. */
    async ensure(): Promise<Running> {
      lastUsed = clock.monotonic()
      if (running && clock.monotonic() - checkedAt < CHECK_VALID_MS) return running
      starting ??= start().finally(() => {
        starting = undefined
        checkedAt = clock.monotonic()
      })
      return starting
    },
    /** What is known since the last `ensure`. */
    known: (): Running | undefined => running,
    /** Sends a signal to the processes of a command. Resolves to false when that failed although the container runs. */
    async signal(mark: string, signal: string): Promise<boolean> {
      if (!cli) return true
      const args = ['exec', name, 'sh', '-c', SIGNAL, 'sh', signal.replace(/^SIG/, ''), mark]
      const { code } = await cli.run(args, SIGNAL_TIMEOUT_MS)
      return code === 0 || (await isRunning(cli)) !== true
    },
    /** Milliseconds without a command; 0 while one runs. */
    async idleMs(): Promise<number> {
      const since = clock.monotonic() - lastUsed
      if (!cli || starting) return 0
      const { code, stdout } = await cli.run(['exec', name, 'sh', '-c', SIGNAL, 'sh', '0', ''])
      return code === 0 && Number(stdout.toString()) > 0 ? 0 : since
    },
    /** With everything that runs in it. One that outlasts the service is stopped only. */
    async remove(): Promise<void> {
      await starting?.catch(() => undefined)
      running = undefined
      if (cli)
        await (settings.outlasts
          ? cli.run(['stop', '--time', '1', name])
          : cli.run(['rm', '--force', name]))
      files.remove()
    },
    /** Everything in it ends at once; the next command starts it again. */
    async kill(): Promise<void> {
      running = undefined
      if (cli) await cli.run(['kill', name])
    },
  }
}
