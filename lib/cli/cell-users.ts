/**
 * A user of the system for each cell of a worker, so that the commands of one agent cannot read the files of another person. The
 * owner of a cell's directory says which one: nothing else is kept.
 */
import { chmodSync, lchownSync, lstatSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { namesIn } from '../base/directories.ts'
import type { UserRange } from '../base/cluster-settings.ts'
import { signalProcess } from '../base/process.ts'
import { SetupError } from '../errors.ts'
import { readWholeText } from '../store/read-text.ts'

export type CellUser = { uid: number; gid: number }

/** `o+x`: who is neither the owner nor of the group may go through. */
const THROUGH = 0o001

const ownerOf = (path: string): number | undefined =>
  lstatSync(path, { throwIfNoEntry: false })?.uid

/** Gives everything in a directory to a user, the directory itself last: after a kill it is done again. Links are not followed. */
const giveTo = (path: string, { uid, gid }: CellUser): void => {
  if (lstatSync(path).isDirectory())
    for (const name of readdirSync(path)) giveTo(join(path, name), { uid, gid })
  lchownSync(path, uid, gid)
}

const processesOf = (uid: number): number[] =>
  namesIn('/proc')
    .filter(name => /^\d+$/.test(name) && ownerOf(join('/proc', name)) === uid)
    .map(Number)

const endAll = (uid: number): void => {
  for (const pid of processesOf(uid)) signalProcess(pid, 'SIGKILL')
}

/** What else is in the state directory of a worker, possibly since before, is its own. */
const closeOthers = (dir: string): void => {
  const above = dirname(dir)
  for (const name of readdirSync(above)) {
    const path = join(above, name)
    const stat = lstatSync(path)
    if (name !== basename(dir) && !stat.isSymbolicLink()) chmodSync(path, stat.mode & 0o700)
  }
}

/** Directories of the system that every user writes into. */
const SHARED_DIRS = ['/tmp', '/var/tmp', '/dev/shm', tmpdir()]

/** What a user left there: the cell of that user was purged, and the next one must not read it. */
const removeTraces = (uid: number): void => {
  for (const dir of new Set(SHARED_DIRS))
    for (const name of namesIn(dir))
      if (ownerOf(join(dir, name)) === uid)
        rmSync(join(dir, name), { recursive: true, force: true })
}

const rangeText = ({ first, last }: UserRange): string => `${first}-${last}`

/**
 * Takes the range for this process, on this machine: cells of two workers that are one user could read each other, and end each other's
 * processes. The name of a socket without a file (unix(7)) is free again as soon as the process has ended. Throws a SetupError.
 */
const takeRange = async (range: UserRange): Promise<void> => {
  if (process.platform !== 'linux') return
  const overlap = (text: string): SetupError =>
    new SetupError(
      `Another worker of this machine has the users ${text}. Give each a range of its own in AGENT_WEBUI_CLUSTER_USERS.`,
    )
  const server = createServer(socket => socket.destroy()).unref()
  await new Promise<void>((resolve, reject) => {
    server.once('error', () => reject(overlap(rangeText(range))))
    server.listen(`\0agent-webui-users-${rangeText(range)}`, resolve)
  })
  const sockets = readWholeText('/proc/net/unix').matchAll(/@agent-webui-users-(\d+)-(\d+)$/gm)
  for (const [, from, to] of sockets) {
    const other = { first: Number(from), last: Number(to) }
    const isOther = other.first !== range.first || other.last !== range.last
    if (!isOther || other.first > range.last || other.last < range.first) continue
    server.close()
    throw overlap(rangeText(other))
  }
}

export class CellUsers {
  readonly #dir: string
  readonly #range: UserRange

  /**
   * `dir`: the directory of all cells. Throws a SetupError where this process may not start programs of other users, they could not
   * reach the directory, or another worker has some of them.
   */
  static async open(dir: string, range: UserRange): Promise<CellUsers> {
    const users = new CellUsers(dir, range)
    await takeRange(range)
    // What a cell writes into a directory of the system, such as /tmp, is for its user only.
    process.umask(0o077)
    return users
  }

  private constructor(dir: string, range: UserRange) {
    this.#dir = dir
    this.#range = range
    if (process.geteuid?.() !== 0)
      throw new SetupError(
        'AGENT_WEBUI_CLUSTER_USERS needs a worker that runs as root: it starts each cell as a user of its own. The cells themselves have no rights.',
      )
    for (let above = dirname(dirname(dir)); above !== dirname(above); above = dirname(above))
      if ((statSync(above).mode & THROUGH) === 0)
        throw new SetupError(
          `The users of AGENT_WEBUI_CLUSTER_USERS cannot reach ${dir}, because ${above} is closed to them. Set AGENT_WEBUI_STATE_DIR to a directory such as /var/lib/agent-webui-worker.`,
        )
    mkdirSync(dir, { recursive: true })
    closeOthers(dir)
    chmodSync(dir, 0o711)
    chmodSync(dirname(dir), 0o711)
  }

  /** The user of a cell, whose directory with these folders is then there, and the user's. Throws when all are taken. */
  prepare(cell: string, folders: readonly string[]): CellUser {
    const dir = join(this.#dir, cell)
    mkdirSync(dir, { recursive: true, mode: 0o700 })
    const user = this.#take(cell, dir)
    for (const name of folders) {
      const path = join(dir, name)
      // Made by root, also where the agent has deleted it.
      if (mkdirSync(path, { recursive: true, mode: 0o700 }) !== undefined)
        lchownSync(path, user.uid, user.gid)
    }
    return user
  }

  /** Ends what is left of a cell, however it has detached itself. */
  end(cell: string): void {
    const uid = ownerOf(join(this.#dir, cell)) ?? 0
    if (this.#has(uid)) endAll(uid)
  }

  #has(uid: number): boolean {
    return uid >= this.#range.first && uid <= this.#range.last
  }

  #take(cell: string, dir: string): CellUser {
    const { first, last } = this.#range
    const owner = ownerOf(dir) ?? 0
    const others = namesIn(this.#dir).filter(name => name !== cell)
    const uids = new Set(others.map(name => ownerOf(join(this.#dir, name))))
    if (this.#has(owner) && !uids.has(owner)) return { uid: owner, gid: owner }
    let uid = first
    while (uids.has(uid)) uid += 1
    if (uid > last)
      throw new Error(
        `all of the users ${first} to ${last} have a cell: widen AGENT_WEBUI_CLUSTER_USERS, or purge cells`,
      )
    // One of the former user could put a link in the way meanwhile.
    if (owner !== 0 && processesOf(owner).length > 0)
      throw new Error(`programs of the user ${owner}, whose cell it was, still run`)
    // Of a cell that was purged.
    endAll(uid)
    removeTraces(uid)
    const user = { uid, gid: uid }
    giveTo(dir, user)
    return user
  }
}
