/**
 * A user of the system for each cell of a worker, so that the commands of one agent cannot read the files of another person. The
 * owner of a cell's directory says which one: nothing else is kept.
 */
import { chmodSync, lchownSync, lstatSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { namesIn } from '../base/directories.ts'
import type { UserRange } from '../base/cluster-settings.ts'
import { SetupError } from '../errors.ts'

export type CellUser = { uid: number; gid: number }

/** `o+x`: who is neither the owner nor of the group may go through. */
const THROUGH = 0o001

/** Gives everything in a directory to a user. Links are not followed. */
const giveTo = (path: string, { uid, gid }: CellUser): void => {
  lchownSync(path, uid, gid)
  if (!lstatSync(path).isDirectory()) return
  for (const name of readdirSync(path)) giveTo(join(path, name), { uid, gid })
}

export class CellUsers {
  readonly #dir: string
  readonly #range: UserRange

  /** `dir`: the directory of all cells. Throws where this process may not start programs of other users, or they could not reach it. */
  constructor(dir: string, range: UserRange) {
    this.#dir = dir
    this.#range = range
    if (process.geteuid?.() !== 0)
      throw new SetupError(
        'AGENT_WEBUI_CLUSTER_USERS needs a worker that runs as root: it starts each cell as a user of its own. The cells themselves have no rights.',
      )
    mkdirSync(dir, { recursive: true })
    chmodSync(dir, 0o711)
    chmodSync(dirname(dir), 0o711)
    for (let above = dirname(dirname(dir)); above !== dirname(above); above = dirname(above))
      if ((statSync(above).mode & THROUGH) === 0)
        throw new SetupError(
          `The users of AGENT_WEBUI_CLUSTER_USERS cannot reach ${dir}, because ${above} is closed to them. Set AGENT_WEBUI_STATE_DIR to a directory such as /var/lib/agent-webui-worker.`,
        )
  }

  /** The user of a cell whose directory exists; from now on the directory is that user's. Throws when all are taken. */
  of(cell: string): CellUser {
    const dir = join(this.#dir, cell)
    const owner = statSync(dir).uid
    const taken = new Set(
      namesIn(this.#dir).flatMap(name =>
        name === cell ? [] : [statSync(join(this.#dir, name)).uid],
      ),
    )
    const { first, last } = this.#range
    const isOwn = owner >= first && owner <= last && !taken.has(owner)
    let uid = isOwn ? owner : first
    while (taken.has(uid)) uid += 1
    if (uid > last)
      throw new Error(
        `all of the users ${first} to ${last} have a cell: widen AGENT_WEBUI_CLUSTER_USERS, or purge cells`,
      )
    const user = { uid, gid: uid }
    if (!isOwn) giveTo(dir, user)
    return user
  }
}
