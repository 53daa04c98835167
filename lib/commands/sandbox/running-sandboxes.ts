import { pids, readProc } from '../own-processes/own-processes.ts'
import { isBelow } from '../../store/path-within.ts'
import type { Mount } from './mounts.ts'

/** A mount of a sandbox: the real path, its name inside, and whether it can be changed through it. */
type VisiblePath = { source: string; path: string; canWrite: boolean }

/** Time between the choice of the mounts and the start of bwrap. */
const START_MS = 100

const shownBy = (args: readonly string[]): VisiblePath[] =>
  args.flatMap((flag, at) => {
    const [source, path] = [args[at + 1], args[at + 2]]
    const isBind = flag === '--bind' || flag === '--ro-bind'
    return isBind && source !== undefined && path !== undefined
      ? [{ source, path, canWrite: flag === '--bind' }]
      : []
  })

/**
 * The mounts of every bwrap of this computer. A process in a sandbox could call itself bwrap, but it is in another
 * namespace of processes.
 */
const runningSandboxes = (): VisiblePath[][] => {
  return pids().flatMap(pid => {
    const line = Buffer.from(readProc(`${pid}/cmdline`) ?? '', 'latin1').toString()
    const [program = '', ...args] = line.split('\0')
    if (!/(?:^|\/)bwrap$/.test(program)) return []
    // One number for each nested namespace.
    return /^NSpid:\t\d+$/m.test(readProc(`${pid}/status`) ?? '') ? [shownBy(args)] : []
  })
}

const toShown = (mounts: readonly Mount[]): VisiblePath[] =>
  mounts.map(({ path, access, source = path }) => ({ source, path, canWrite: access === 'write' }))

/** Whether a command in that sandbox could rename the path or a directory above it. A mount point cannot be renamed. */
const canReplace = (paths: readonly VisiblePath[], real: string): boolean =>
  paths.some(mount => {
    if (!mount.canWrite || mount.source === real || !isBelow(mount.source, real)) return false
    const path = mount.path + real.slice(mount.source.length)
    return !paths.some(other => other.path.length > mount.path.length && isBelow(other.path, path))
  })

export class MountCheck {
  /** Mounts of sandboxes that may not have started yet. */
  #starting: { at: number; paths: VisiblePath[] }[] = []

  /** Without those inside the workspace that a running command can replace. What only hides something stays: it shows nothing. */
  withoutReplaceable(mounts: readonly Mount[]): Mount[] {
    const now = performance.now()
    this.#starting = this.#starting.filter(({ at }) => now - at < START_MS)
    const others = [...this.#starting.map(({ paths }) => paths), ...runningSandboxes()]
    const changeable = mounts.filter(({ access, source }) => access === 'write' && !source)
    return mounts.filter(({ path, access, source = path }) => {
      const isInWorkspace = changeable.some(each => each.path !== path && isBelow(each.path, path))
      const isFixed = access === 'hide' || !isInWorkspace
      return isFixed || !others.some(paths => canReplace(paths, source))
    })
  }

  /** A sandbox with these is about to start. */
  starts(mounts: readonly Mount[]): void {
    this.#starting.push({ at: performance.now(), paths: toShown(mounts) })
  }
}
