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
import { ContainerFiles, type ContainerMount } from './container-files.ts'
import { type BindMount, runArguments } from './run-arguments.ts'
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
  shows: () => readonly ContainerMount[]
  labels: Readonly<Record<string, string>>
}

type ContainerServices = {
  clock: Clock
  images: Images
  warn: (line: string) => void
  /** Rejects with a sentence when it cannot be used. */
  engine: () => Promise<EngineCli>
}

/** A container that runs. */
export type RunningContainer = {
  cli: EngineCli
  /** What programs start with. */
  env: Readonly<Record<string, string>>
  hasBash: boolean
}

/** Folders that are part of every image. */
const OF_IMAGE = /^\/(?:usr|bin|sbin|lib\d*|etc|proc|sys|dev|var|run|boot)?$/

export class Container {
  readonly name: string
  readonly #plan: ContainerPlan
  readonly #settings: ContainerSettings
  readonly #services: ContainerServices
  readonly #files: ContainerFiles
  #cli: EngineCli | undefined
  #running: RunningContainer | undefined
  #checkedAt = Number.NEGATIVE_INFINITY
  #starting: Promise<RunningContainer> | undefined
  #lastUsed: number

  constructor(plan: ContainerPlan, services: ContainerServices) {
    this.name = plan.name
    this.#plan = plan
    this.#settings = plan.settings
    this.#services = services
    this.#files = new ContainerFiles(plan)
    this.#lastUsed = services.clock.monotonic()
  }

  async #userOf(engine: EngineCli): Promise<{ user: string | null; more: string[] }> {
    const own = `${process.getuid?.() ?? 0}:${process.getgid?.() ?? 0}`
    if (this.#settings.runsAsHostUser === false) return { user: null, more: [] }
    const rootless = await isRootless(engine)
    if (!rootless) return { user: own, more: [] }
    // Without root, the user of this computer is root inside, unless the user wants to have the same number there.
    return this.#settings.runsAsHostUser && engine.engine === 'podman'
      ? { user: own, more: ['--userns', 'keep-id'] }
      : { user: '0:0', more: [] }
  }

  /** Runs the container, without the limits that the system cannot apply, unless the file names them. */
  async #create(engine: EngineCli): Promise<void> {
    const { user, more } = await this.#userOf(engine)
    const { namedLimits } = this.#settings
    const limits = { hasLimits: true, hasDiskLimit: this.#settings.diskMb > 0, hasTried: false }
    for (;;) {
      const args = runArguments({
        settings: { ...this.#settings, extraArgs: [...more, ...this.#settings.extraArgs] },
        name: this.name,
        labels: { ...this.#plan.labels, [`${LABEL}.dir`]: this.#files.base() },
        mounts: this.#files.mounts(),
        user,
        hasSelinux: existsSync('/sys/fs/selinux/enforce'),
        ...limits,
      })
      const { code, stderr } = await engine.run(args, START_TIMEOUT_MS)
      if (code === 0) return
      // A failed start may leave a container that was created.
      await engine.run(['rm', '--force', this.name])
      if (limits.hasDiskLimit && isDiskLimitUnsupported(stderr)) {
        if (namedLimits.has('container_disk') && this.#settings.diskMb !== USUAL_DISK_MB)
          throw this.#refusal('terminal.container_disk', stderr)
        if (namedLimits.has('container_disk'))
          this.#services.warn(
            `the container runs without the limit terminal.container_disk: ${reasonIn(stderr)}`,
          )
        limits.hasDiskLimit = false
      } else if (limits.hasLimits && isLimitUnsupported(stderr)) {
        if (namedLimits.has('container_cpu') || namedLimits.has('container_memory'))
          throw this.#refusal('terminal.container_cpu or terminal.container_memory', stderr)
        this.#services.warn(
          `the container runs without limits of CPU and memory: ${reasonIn(stderr)}`,
        )
        limits.hasLimits = false
      } else if (isNameTaken(stderr) && !limits.hasTried) limits.hasTried = true
      else throw unavailable(sentence('container.no_start', { reason: reasonIn(stderr) }))
    }
  }

  #refusal(keys: string, stderr: string) {
    return unavailable(sentence('container.limits', { keys, reason: reasonIn(stderr) }))
  }

  async #isRunning(engine: EngineCli): Promise<boolean | null> {
    const { code, stdout } = await engine.run([
      'container',
      'inspect',
      '--format',
      '{{.State.Running}}',
      this.name,
    ])
    return code === 0 ? stdout.toString().trim() === 'true' : null
  }

  async #describe(engine: EngineCli): Promise<RunningContainer> {
    const { code, stdout, stderr } = await engine.run(['exec', this.name, 'sh', '-c', DESCRIBE])
    if (code !== 0) throw unavailable(sentence('container.no_shell', { reason: reasonIn(stderr) }))
    const [shell, ...lines] = stdout.toString().split('\n')
    const variables = lines.flatMap(line => {
      const [, key, value = ''] = /^([A-Za-z_]\w*)=(.*)$/.exec(line) ?? []
      return key === undefined || /^(?:_|PWD|OLDPWD|SHLVL)$/.test(key) ? [] : [[key, value]]
    })
    return { cli: engine, env: Object.fromEntries(variables), hasBash: shell === 'bash' }
  }

  async #start(): Promise<RunningContainer> {
    this.#cli = await this.#services.engine()
    const state = await this.#isRunning(this.#cli)
    if (state && this.#running) return this.#running
    if (OF_IMAGE.test(this.#plan.workspace))
      throw unavailable(sentence('container.workspace', { folder: this.#plan.workspace }))
    await this.#services.images.require(this.#cli, this.#settings.image)
    if (this.#settings.outlasts) this.#files.claim()
    if (state !== null && this.#settings.outlasts) {
      const started = state ? null : await this.#cli.run(['start', this.name], START_TIMEOUT_MS)
      if (started && started.code !== 0) {
        await this.#cli.run(['rm', '--force', this.name])
        await this.#create(this.#cli)
      }
    } else {
      if (state !== null) await this.#cli.run(['rm', '--force', this.name])
      await this.#create(this.#cli)
    }
    this.#running = await this.#describe(this.#cli)
    return this.#running
  }

  shared(): string {
    return this.#files.dirs().shared
  }

  exchange(): string {
    return this.#files.dirs().exchange
  }

  /** What it shows of this computer, for mapping paths; the deepest first. */
  places(): BindMount[] {
    return [
      ...this.#files.mounts(),
      ...this.#settings.volumes
        .filter(({ source }) => source.includes('/'))
        .map(({ source, target }) => ({ source, target })),
    ].sort((a, b) => b.target.length - a.target.length)
  }

  /** Rejects with a sentence when it cannot run. Cheap while it runs. */
  async ensure(): Promise<RunningContainer> {
    this.#lastUsed = this.#services.clock.monotonic()
    if (this.#running && this.#services.clock.monotonic() - this.#checkedAt < CHECK_VALID_MS)
      return this.#running
    this.#starting ??= this.#start().finally(() => {
      this.#starting = undefined
      this.#checkedAt = this.#services.clock.monotonic()
    })
    return this.#starting
  }

  /** What is known since the last `ensure`. */
  current(): RunningContainer | undefined {
    return this.#running
  }

  /** Sends a signal to the processes of a command. Resolves to false when that failed although the container runs. */
  async signal(mark: string, signal: string): Promise<boolean> {
    if (!this.#cli) return true
    const args = ['exec', this.name, 'sh', '-c', SIGNAL, 'sh', signal.replace(/^SIG/, ''), mark]
    const { code } = await this.#cli.run(args, SIGNAL_TIMEOUT_MS)
    return code === 0 || (await this.#isRunning(this.#cli)) !== true
  }

  /** Milliseconds without a command; 0 while one runs. */
  async idleMs(): Promise<number> {
    const since = this.#services.clock.monotonic() - this.#lastUsed
    if (!this.#cli || this.#starting) return 0
    const { code, stdout } = await this.#cli.run([
      'exec',
      this.name,
      'sh',
      '-c',
      SIGNAL,
      'sh',
      '0',
      '',
    ])
    return code === 0 && Number(stdout.toString()) > 0 ? 0 : since
  }

  /** With everything that runs in it. One that outlasts the service is stopped only. */
  async remove(): Promise<void> {
    await this.#starting?.catch(() => undefined)
    this.#running = undefined
    if (this.#cli)
      await (this.#settings.outlasts
        ? this.#cli.run(['stop', '--time', '1', this.name])
        : this.#cli.run(['rm', '--force', this.name]))
    this.#files.remove()
  }

  /** Everything in it ends at once; the next command starts it again. */
  async kill(): Promise<void> {
    this.#running = undefined
    if (this.#cli) await this.#cli.run(['kill', this.name])
  }
}
