/**
 * What a cell of a worker may use of the machine. With groups of the system (`cell-groups.ts`) the limits hold for the cell and its
 * commands together. Otherwise each process gets those that the system has for processes (getrlimit(2)).
 */
import { totalmem } from 'node:os'
import { findProgram } from '../base/find-program.ts'
import type { ClusterSettings } from '../base/cluster-settings.ts'
import { SetupError } from '../errors.ts'
import { CellGroups, ownGroup } from './cell-groups.ts'

/** Of processes of a cell, threads too. */
const DEFAULT_PROCESSES = 4_096

const DELEGATION =
  'Start the worker with systemd/agent-webui-worker.service, which gives it a group of its own (Delegate=)'

/** Half of what there is, so that one cell leaves something to the others. */
const defaultMemory = (): number => {
  const limit = process.constrainedMemory()
  return Math.floor(Math.min(totalmem(), limit > 0 ? limit : totalmem()) / 2)
}

const sizeText = (bytes: number): string => `${Math.round((bytes / 2 ** 30) * 10) / 10} GB`

export class CellLimits {
  readonly #groups: CellGroups | null
  readonly #memoryBytes: number
  readonly #processes: number
  /** In front of the command of a cell. */
  readonly prefix: readonly string[]
  /** What holds, as a sentence without a period. */
  readonly sentence: string

  /** Throws a SetupError when a limit that was asked for cannot be held. `group`: that of this process. */
  constructor(
    { worker, diskBytes }: Pick<ClusterSettings, 'worker' | 'diskBytes'>,
    path: string,
    group = ownGroup(),
  ) {
    const { users, memoryBytes, processes } = worker
    const groups = CellGroups.open(group)
    const isGrouped = typeof groups !== 'string'
    const limiter = findProgram(path, 'prlimit')
    const hasUsers = users !== null && users !== 'shared'
    // The system counts the processes of a user.
    const countsProcesses = isGrouped || (hasUsers && limiter !== undefined)
    if (!countsProcesses && processes)
      throw new SetupError(
        `AGENT_WEBUI_CLUSTER_PROCESSES cannot be held: cells that share a user are counted together, and ${groups}. Give cells users of their own with AGENT_WEBUI_CLUSTER_USERS, or: ${DELEGATION}.`,
      )
    if (!isGrouped && memoryBytes && limiter === undefined)
      throw new SetupError(
        `AGENT_WEBUI_CLUSTER_MEMORY cannot be held: the program prlimit (util-linux) is missing, and ${groups}. ${DELEGATION}.`,
      )
    this.#groups = isGrouped ? groups : null
    this.#memoryBytes = memoryBytes ?? (isGrouped ? defaultMemory() : 0)
    this.#processes = countsProcesses ? (processes ?? DEFAULT_PROCESSES) : 0
    const each = [
      // No file can be larger than all together.
      ...(diskBytes > 0 ? [`--fsize=${diskBytes}`] : []),
      ...(this.#processes > 0 && !isGrouped ? [`--nproc=${this.#processes}`] : []),
      ...(this.#memoryBytes > 0 && !isGrouped ? [`--data=${this.#memoryBytes}`] : []),
    ]
    this.prefix = limiter === undefined || each.length === 0 ? [] : [limiter, ...each, '--']
    const memory = this.#memoryBytes > 0 ? `${sizeText(this.#memoryBytes)} of memory` : 'any memory'
    const count = this.#processes > 0 ? `${this.#processes} processes` : 'any number of processes'
    const disk = diskBytes > 0 ? `${sizeText(diskBytes)} of the disk` : 'all of the disk'
    const why = isGrouped ? '' : `, as far as it goes without a group for each: ${groups}`
    const whose = isGrouped || this.#memoryBytes === 0 ? '' : ' in each process'
    this.sentence = `A cell may use ${memory}${whose}, ${count}, and ${disk}${why}`
  }

  /** For a process that was just started. */
  hold(cell: string, pid: number): void {
    const limits = { memoryBytes: this.#memoryBytes, processes: this.#processes }
    this.#groups?.hold(cell, pid, limits)
  }

  /** The process of the cell has ended. */
  end(cell: string): void {
    this.#groups?.end(cell)
  }
}
