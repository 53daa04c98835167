/** A group of the system (cgroup v2) for each cell of a worker, with limits that hold for the cell and all of its commands together. */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { messageOf } from '../errors.ts'
import { readWholeText } from '../store/read-text.ts'

/** Without these nothing is limited. */
const CONTROLLERS = ['memory', 'pids']

/** The directory of the group that this process is in; null where the system has none. */
export const ownGroup = (proc = '/proc/self'): string | null => {
  if (!existsSync(`${proc}/cgroup`)) return null
  const path = /^0::(.*)$/m.exec(readWholeText(`${proc}/cgroup`))?.[1]
  // Of a line: what of the tree is mounted, and where (proc_pid_mountinfo(5)).
  const mount = / (\/\S*) (\/\S*) \S+ (?:\S+ )*- cgroup2 /
  const [, root = '', at] = mount.exec(readWholeText(`${proc}/mountinfo`)) ?? []
  return path === undefined || at === undefined ? null : join(at, relative(root, path))
}

const textIn = (dir: string, name: string): string => readWholeText(join(dir, name)).trim()

const removeGroup = (dir: string): void => {
  try {
    rmdirSync(dir)
  } catch {
    // A process is still in it: the next start of the cell takes it as it is.
  }
}

export class CellGroups {
  readonly #dir: string

  private constructor(dir: string) {
    this.#dir = dir
  }

  /**
   * Below the group of this process, which was delegated to it: it is alone there, and may write. Otherwise a sentence without a
   * period why not, and nothing has changed. `needed`: controllers.
   */
  static open(dir: string | null, needed: readonly string[] = CONTROLLERS): CellGroups | string {
    if (dir === null) return 'the system has no cgroup v2'
    const own = join(dir, 'worker')
    let isInside = false
    try {
      // Only the group of the whole machine has no type.
      if (!existsSync(join(dir, 'cgroup.type'))) return 'the worker is in no group of its own'
      const controllers = textIn(dir, 'cgroup.controllers').split(' ')
      const lacking = needed.filter(name => !controllers.includes(name))
      if (lacking.length > 0) return `its group (cgroup v2) lacks ${lacking.join(' and ')}`
      if (textIn(dir, 'cgroup.procs') !== String(process.pid))
        return 'other programs are in the group of the worker'
      mkdirSync(own, { recursive: true })
      // A group with groups below it may have no process.
      writeFileSync(join(own, 'cgroup.procs'), String(process.pid))
      isInside = true
      // With the controller of the processor all cells get the same share of it.
      const all = controllers.includes('cpu') ? [...needed, 'cpu'] : needed
      writeFileSync(join(dir, 'cgroup.subtree_control'), all.map(name => `+${name}`).join(' '))
      return new CellGroups(dir)
    } catch (error) {
      if (isInside) writeFileSync(join(dir, 'cgroup.procs'), String(process.pid))
      removeGroup(own)
      return messageOf(error)
    }
  }

  /** Puts a process into the group of its cell; what it starts from then on is in it, too. `limits`: 0 for none. */
  hold(
    cell: string,
    pid: number,
    { memoryBytes, processes }: { memoryBytes: number; processes: number },
  ): void {
    const dir = this.#of(cell)
    mkdirSync(dir, { recursive: true })
    writeFileSync(join(dir, 'memory.max'), memoryBytes === 0 ? 'max' : String(memoryBytes))
    writeFileSync(join(dir, 'pids.max'), processes === 0 ? 'max' : String(processes))
    writeFileSync(join(dir, 'cgroup.procs'), String(pid))
  }

  /** Ends what is left of a cell, however it has detached itself. */
  end(cell: string): void {
    const dir = this.#of(cell)
    if (!existsSync(dir)) return
    writeFileSync(join(dir, 'cgroup.kill'), '1')
    removeGroup(dir)
  }

  #of(cell: string): string {
    return join(this.#dir, `cell-${cell}`)
  }
}
