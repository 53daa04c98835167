/** The folders of a container on this computer, and what it shows of this computer. */
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { isInside } from '../../store/path-within.ts'
import type { ContainerPlan } from './container.ts'
import { CONTAINER_HOME, type BindMount } from './run-arguments.ts'
import type { ContainerSettings } from './settings.ts'

/** Name of a directory in the temporary directory that belongs to a container. */
export const DIR_PREFIX = 'agent-webui-container-'

/** Has the number of the process that uses the container. */
export const USER_FILE = 'process'

export type ContainerMount = BindMount & { isHidden?: boolean }

/** The directories of one container on this computer. */
type Dirs = {
  /** Read by commands, under the same name. */
  shared: string
  /** Environments and reports of single commands, under the same name. */
  exchange: string
  tmp: string
  /** In place of what is hidden. */
  empty: string
}

export class ContainerFiles {
  readonly #plan: ContainerPlan
  readonly #settings: ContainerSettings
  #base = ''

  constructor(plan: ContainerPlan) {
    this.#plan = plan
    this.#settings = plan.settings
  }

  /** Created again when it was deleted, as after a restart of the computer. */
  dirs(): Dirs {
    if (this.#base === '')
      this.#base = this.#settings.outlasts
        ? join(this.#settings.dir, this.#plan.name)
        : mkdtempSync(join(tmpdir(), DIR_PREFIX))
    const [shared, exchange, tmp, empty] = ['shared', 'exchange', 'tmp', 'empty'].map(each =>
      join(this.#base, each),
    ) as [string, string, string, string]
    const all = { shared, exchange, tmp, empty }
    if (existsSync(tmp)) return all
    mkdirSync(this.#base, { recursive: true, mode: 0o700 })
    for (const dir of Object.values(all)) mkdirSync(dir, { recursive: true })
    writeFileSync(join(empty, 'file'), '')
    // Only the user can enter `base`; inside, the user of the image may be another one.
    chmodSync(exchange, 0o777)
    chmodSync(tmp, 0o1777)
    return all
  }

  mounts(): BindMount[] {
    const { shared, exchange, tmp, empty } = this.dirs()
    const homeDir = join(this.#settings.dir, 'home')
    if (this.#settings.keepsHome) mkdirSync(homeDir, { recursive: true, mode: 0o700 })
    const toMount = ({ isHidden, source, target, isReadOnly }: ContainerMount): BindMount => {
      if (!isHidden) return { source, target, isReadOnly }
      const isDir = statSync(source).isDirectory()
      return { source: isDir ? empty : join(empty, 'file'), target, isReadOnly: true }
    }
    const aliasOf = (mount: BindMount): BindMount[] =>
      isInside(this.#plan.workspace, mount.target)
        ? [{ ...mount, target: join('/workspace', relative(this.#plan.workspace, mount.target)) }]
        : []
    const visible = this.#plan.shows().map(toMount)
    const all = [
      { source: tmp, target: '/tmp' },
      ...(this.#settings.keepsHome ? [{ source: homeDir, target: CONTAINER_HOME }] : []),
      ...visible,
      // With what is read-only or hidden in it: a mount of the workspace does not contain other mounts.
      ...(this.#settings.hasWorkspaceAlias ? visible.flatMap(aliasOf) : []),
      { source: shared, target: shared, isReadOnly: true },
      { source: exchange, target: exchange },
    ]
    // The last of a place applies, such as a workspace that is /root.
    return [...new Map(all.map(mount => [mount.target, mount])).values()]
  }

  /** The directory that contains them. */
  base(): string {
    this.dirs()
    return this.#base
  }

  /** Notes which process uses a container that outlasts it, because its labels cannot change. */
  claim(): void {
    this.dirs()
    writeFileSync(join(this.#base, USER_FILE), String(process.pid))
  }

  remove(): void {
    if (this.#base !== '' && !this.#settings.outlasts)
      rmSync(this.#base, { recursive: true, force: true })
  }
}
