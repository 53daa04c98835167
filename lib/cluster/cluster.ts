/** A cell: one state directory with its homes, owned by one process at a time. Where a cluster is configured, a database keeps a copy of its files. */

import { SetupError } from '../errors.ts'

/** What the key of a folder ends with: of one that is empty, or of the work with a mode of its own. */
export const FOLDER = '/'
/** Of folders without a key: what is in them makes them again. */
export const FOLDER_MODE = 0o700

/** Where the files of a cell are. A key is a path with `/` that is the same on every machine, such as `state/sessions/a.jsonl`. */
export type CellFiles = {
  /** Null: the cluster keeps no copy of this file. */
  keyOf(path: string): string | null
  pathOf(key: string): string | null
  /** All files, and folders with a key, that exist now, or only those that are `isOfTools`. */
  list(part?: 'work'): Promise<string[]>
  /** The same in one folder. */
  listBelow(key: string): Promise<string[]>
  /** Of the last list: folders that it did not enter and that programs do not make again by themselves, and names that are no text. */
  leftOut(): readonly string[]
  /** Below a folder that the last list did not enter: whether the file exists is not known. */
  isHidden(key: string): boolean
  /** Only appended to, or replaced as a whole under the same name. */
  isAppended(key: string): boolean
  /** Of the work of the agent and of people: copied within limits, with its modes and links as they are. */
  isWork(key: string): boolean
  /** What tools change without a report: the work, and what undo keeps of it. */
  isOfTools(key: string): boolean
}

/** Of a cell on a volume. */
export const NO_FILES: CellFiles = {
  keyOf: () => null,
  pathOf: () => null,
  list: async () => [],
  listBelow: async () => [],
  leftOut: () => [],
  isHidden: () => false,
  isAppended: () => false,
  isWork: () => false,
  isOfTools: () => false,
}

export type CellPlace = {
  /** Null: the directory is on a volume that follows the cell, and the database keeps no copy. */
  files: CellFiles | null
  /** Of this process and of what is set aside. */
  stateDir: string
  /** Ends the wait for another owner. */
  signal?: AbortSignal | undefined
  /** What requests prove with that they come from a forwarder. Absent: nothing. */
  token?: string | undefined
  /** Another process owns the cell, and this one waits for its end. */
  onWait?: () => void
}

/** What a list of several cells shows of this one. */
export type CellStatus = {
  /** Turns. */
  running: number
  /** Questions and approvals without an answer. */
  waiting: number
  /** Of the last change, in milliseconds since 1970; null: none since the start. */
  activeAt: number | null
}

/** The right of this process to serve a cell. */
export type Owned = {
  /** Rises with every owner; 0 without a cluster. */
  readonly epoch: number
  /** The last owner was on another machine: what it kept for itself, such as streams, is not here. */
  readonly tookOver: boolean
  /** The database answered lately. */
  isReachable(): boolean
  /** Everything that was written is committed, and no other process can have taken the cell. */
  isSettled(): boolean
  /** Resolves when everything that was written before the call is committed; rejects when the cell is lost. */
  whenSettled(): Promise<void>
  /** Another process owns the cell: nothing may be answered or shown any more. */
  readonly lost: AbortSignal
  /** How a forwarder reaches this process. Before, it finds no owner. */
  announce(address: string): void
  /** Written soon, and only the last one. */
  report(status: CellStatus): void
  /** Resolves when what commands of the agent changed in the work is committed. Nothing else waits for that. */
  look(): Promise<void>
  /** Paths of files that the last owner had, and that could not be copied here. */
  readonly missing: readonly string[]
  /**
   * Commits the rest and lets the next owner begin. Resolves after `timeoutMs` at the latest. `wakeAt`: when a worker begins by
   * itself, in milliseconds since 1970.
   */
  release(timeoutMs: number, wakeAt?: number | null): Promise<void>
}

export type Cluster = {
  /** Waits until no other process owns the cell, takes it, and brings the files of this machine up to date. */
  own(cell: string, place: CellPlace): Promise<Owned>
}

/** Wrong settings, or a program that is too old: waiting does not help. */
export class ClusterError extends SetupError {}

/** The cell is owned by another process. */
export class CellLost extends Error {}
