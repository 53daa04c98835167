/** The containers of this process: one per profile, workspace, and settings; removed when unused, at the end, and after a crash. */
import { isAlive } from '../../base/is-alive.ts'
import { rmSync } from 'node:fs'
import { hostname, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { sha256 } from '../../base/sha256.ts'
import { type Clock, every, systemClock, waitAtMost } from '../../base/clock.ts'
import { messageOf } from '../../errors.ts'
import { readText } from '../../store/read-text.ts'
import { Container, type ContainerPlan, LABEL } from './container.ts'
import { DIR_PREFIX, USER_FILE } from './container-files.ts'
import { type EngineCli, openEngine } from './engine.ts'
import { Images } from './image.ts'
import type { ContainerSettings, Engine } from './settings.ts'

const CHECK_IDLE_MS = 30_000
const CLOSE_TIMEOUT_MS = 10_000

export type ContainerRequest = Omit<ContainerPlan, 'name' | 'labels'> & {
  /** The home of the profile. */
  home: string
  /** The environment of the docker program. */
  env: Readonly<Record<string, string>>
}

const digest = (value: unknown): string => sha256(JSON.stringify(value)).slice(0, 16)

/** Which home, settings, and process a container belongs to. `owner` is null for one that outlasts its process. */
export const containerLabels = ({
  home,
  owner,
  settings,
}: {
  home: string
  owner: number | null
  settings: ContainerSettings
}): Record<string, string> => ({
  [`${LABEL}.home`]: digest(home),
  [`${LABEL}.settings`]: digest(settings),
  ...(owner !== null && {
    [`${LABEL}.owner`]: String(owner),
    [`${LABEL}.computer`]: digest(hostname()),
  }),
})

/** The process that used a container that outlasts it; 0: unknown. */
const userOf = (dir: string): number =>
  Number(readText(join(dir, USER_FILE), { maxBytes: 20 }).text ?? 0) || 0

export class Containers {
  readonly #clock: Clock
  readonly #log: (line: string, extra?: Record<string, unknown>) => void
  readonly #images: Images
  readonly #open = new Map<string, { container: Container; idleMs: number }>()
  readonly #cleaned = new Map<string, Promise<void>>()
  readonly #engines = new Map<string, Promise<EngineCli>>()
  #isClosed = false
  readonly #stopRemoving: () => void

  constructor(clock: Clock, log: (line: string, extra?: Record<string, unknown>) => void) {
    this.#clock = clock
    this.#log = log
    this.#images = new Images(clock, log)
    this.#stopRemoving = every(clock, CHECK_IDLE_MS, () => void this.removeUnused())
  }

  /** The program is looked for once; whether its service answers is found out with each use. */
  #engineFor(env: Readonly<Record<string, string>>, engine: Engine): Promise<EngineCli> {
    const key = JSON.stringify([engine, env.PATH, env.DOCKER_HOST, env.HERMES_DOCKER_BINARY])
    const pending = this.#engines.get(key) ?? openEngine(env, engine)
    this.#engines.set(key, pending)
    pending.catch(() => this.#engines.delete(key))
    return pending
  }

  #report(what: string) {
    return (error: unknown) => this.#log(what, { error: messageOf(error) })
  }

  async removeUnused(): Promise<void> {
    for (const [key, { container, idleMs }] of this.#open) {
      try {
        if ((await container.idleMs()) <= idleMs) continue
        this.#open.delete(key)
        await container.remove()
      } catch (error) {
        this.#report('an unused container was not removed')(error)
      }
    }
  }

  /**
   * Removes containers of this home whose process has ended, and their directories. Of those that outlast it, ends what a
   * killed process left running, and removes the ones that these settings would never start again.
   */
  async #removeLeftovers(cli: EngineCli, home: string, settings: ContainerSettings): Promise<void> {
    const filter = `label=${LABEL}.home=${digest(home)}`
    const listed = await cli.run(['ps', '--all', '--quiet', '--filter', filter])
    const ids = listed.stdout.toString().split('\n').filter(Boolean)
    if (ids.length === 0) return
    const names = ['owner', 'computer', 'settings', 'dir'].map(
      each => `{{index .Config.Labels "${LABEL}.${each}"}}`,
    )
    const format = `{{.State.Running}} ${names.join(' ')}`
    for (const id of ids) {
      const result = await cli.run(['container', 'inspect', '--format', format, id])
      const [, isRunning, owner = '', computer = '', settingsDigest = '', dir = ''] =
        /^(true|false) (\d*) (\w*) (\w*) (.*)$/.exec(result.stdout.toString().trim()) ?? []
      // Process ids of another computer, such as the container of another service, say nothing here.
      if (isRunning === undefined || (computer !== '' && computer !== digest(hostname()))) continue
      const outlasts = owner === ''
      const user = Number(outlasts ? userOf(dir) : owner)
      // This runs before the first one of this process is created.
      if (user !== process.pid && isAlive(user)) continue
      if (outlasts && settings.outlasts && settingsDigest === digest(settings)) {
        if (isRunning === 'true') await cli.run(['stop', '--time', '1', id])
        continue
      }
      await cli.run(['rm', '--force', id])
      this.#log(
        outlasts
          ? 'removed a container of earlier settings'
          : 'removed a container that a killed process had left',
      )
      const isOurs = outlasts
        ? dirname(dir) === settings.dir
        : dirname(dir) === tmpdir() && dir.startsWith(join(tmpdir(), DIR_PREFIX))
      if (isOurs) rmSync(dir, { recursive: true, force: true })
    }
  }

  /** Once per home, before its first container. */
  cleanUp(
    home: string,
    settings: ContainerSettings,
    env: Readonly<Record<string, string>>,
  ): Promise<void> {
    if (!settings.removesLeftovers) return Promise.resolve()
    const earlier = this.#cleaned.get(home)
    if (earlier) return earlier
    const cleanup = this.#engineFor(env, settings.engine)
      .then(cli => this.#removeLeftovers(cli, home, settings))
      .catch((error: unknown) => {
        this.#cleaned.delete(home)
        throw error
      })
    this.#cleaned.set(home, cleanup)
    return cleanup
  }

  /** The container for this request, which may not have been started yet. */
  of({ home, ...request }: ContainerRequest): Container {
    const { settings, workspace, readable } = request
    const owner = settings.outlasts ? null : process.pid
    // Services in containers may share one docker service, and have the same home and process id.
    const place = owner === null ? home : [hostname(), home]
    const name = `agent-webui-${digest([place, owner, settings, workspace, readable])}`
    const entry = this.#open.get(name)
    if (entry) return entry.container
    const labels = containerLabels({ home, owner, settings })
    const container = new Container(
      { ...request, name, labels },
      {
        clock: this.#clock,
        images: this.#images,
        warn: this.#log,
        engine: () => this.#engineFor(request.env, settings.engine),
      },
    )
    this.#open.set(name, { container, idleMs: settings.idleMs })
    return container
  }

  /** Removes all. Everything that runs in them ends. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#stopRemoving()
    this.#images.close()
    const removals = [...this.#open.values()].map(({ container }) =>
      container.remove().catch(this.#report('a container was not removed')),
    )
    this.#open.clear()
    await waitAtMost(systemClock, CLOSE_TIMEOUT_MS, Promise.all(removals))
  }
}
