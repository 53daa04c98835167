/**
 * Mounts that a running command could replace. bwrap follows symlinks when it mounts a path of the workspace. A command that
 * is still running can put a symlink in place of such a path, unless it is a mount point in its own sandbox as well, which
 * cannot be renamed. So what was created later (`.git`, `.vscode`) must not be a mount until that command has ended.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { contains, type Mount } from './mounts.ts'

/** The real paths that a sandbox has as mounts, and whether they can be changed through it. */
type Shown = { source: string; canWrite: boolean }

/** Time between the choice of the mounts and the start of bwrap. */
const START_MS = 100

const shownBy = (args: readonly string[]): Shown[] =>
  args.flatMap((flag, at) => {
    const source = args[at + 1]
    const isBind = flag === '--bind' || flag === '--ro-bind'
    return isBind && source !== undefined ? [{ source, canWrite: flag === '--bind' }] : []
  })

/** Undefined: it has ended, or belongs to another user. */
const ifReadable = (read: () => string): string | undefined => {
  try {
    return read()
  } catch {
    return undefined
  }
}

/**
 * The mounts of every bwrap of this computer. A process in a sandbox could call itself bwrap, but it is in another
 * namespace of processes.
 */
const runningSandboxes = (): Shown[][] => {
  return readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .flatMap(pid => {
      const line = ifReadable(() => readFileSync(`/proc/${pid}/cmdline`, 'utf8')) ?? ''
      const [program = '', ...args] = line.split('\0')
      if (!/(?:^|\/)bwrap$/.test(program)) return []
      const status = ifReadable(() => readFileSync(`/proc/${pid}/status`, 'utf8')) ?? ''
      // One number for each nested namespace.
      return /^NSpid:\t\d+$/m.test(status) ? [shownBy(args)] : []
    })
}

const toShown = (mounts: readonly Mount[]): Shown[] =>
  mounts.map(({ path, access, source = path }) => ({ source, canWrite: access === 'write' }))

/** Whether a command in that sandbox could rename the path or a directory above it. */
const canReplace = (shown: readonly Shown[], path: string): boolean => {
  const [closest] = shown
    .filter(({ source }) => contains(source, path))
    .toSorted((a, b) => b.source.length - a.source.length)
  return closest?.canWrite === true && closest.source !== path
}

export const createMountCheck = () => {
  /** Mounts of sandboxes that may not have started yet. */
  let starting: { at: number; shown: Shown[] }[] = []

  /** Without those inside the workspace that a running command can replace. What only hides something stays: it shows nothing. */
  return (mounts: readonly Mount[]): Mount[] => {
    const now = performance.now()
    starting = starting.filter(({ at }) => now - at < START_MS)
    const others = [...starting.map(({ shown }) => shown), ...runningSandboxes()]
    const changeable = mounts.filter(({ access, source }) => access === 'write' && !source)
    const safe = mounts.filter(({ path, access, source = path }) => {
      const isInWorkspace = changeable.some(each => each.path !== path && contains(each.path, path))
      const isFixed = access === 'hide' || !isInWorkspace
      return isFixed || !others.some(shown => canReplace(shown, source))
    })
    starting.push({ at: now, shown: toShown(safe) })
    return safe
  }
}
