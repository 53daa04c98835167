/** Checkpoints: the files a turn changed, with their earlier versions, to list, diff and restore. One store per workspace. */
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { conflict, invalid, messageOf, missing } from '../../errors.ts'
import {
  deleteOpenRecord,
  listOpenIds,
  readOpenRecord,
  readTurnRecords,
} from './checkpoint-store.ts'
import { listPast, pastStateOf, type Point, readPast } from './past-files.ts'
import type { TurnRecord } from './records.ts'
import { saveTurn } from './record-changes.ts'
import { CheckpointRecorder, MAX_TURNS, type TurnStart } from './turn-recorder.ts'
import {
  type ChangeDiff,
  diffOf,
  type RestoreResult,
  undoHunks,
  undoneHunks,
  undoTurn,
} from './undo.ts'
import { type CheckpointHome, type CheckpointsOptions, CheckpointWorkspaces } from './workspaces.ts'

export type RestoreOptions = {
  checkpoint: string
  /** All files of the turn when absent. */
  paths?: readonly string[] | undefined
  /** Headers of hunks in the diff of the one file in `paths`; the whole file when absent. */
  hunks?: readonly string[] | undefined
  /** Also overwrites files that changed since. */
  force: boolean
  /** Called before the first file is changed, so that a kill loses no word of it. An error leaves all files as they are. */
  beforeFiles?: (undo: Undo) => void
}

/** An undo that is about to change these files. */
export type Undo = {
  checkpoint: string
  undo_of: string
  paths: string[]
  /** Only parts of the file. */
  partial: boolean
  /** It brings back what an earlier one had undone. */
  redone: boolean
}

const storeDirs = (home: CheckpointHome): string[] => {
  const dir = join(home.dir, 'checkpoints')
  return existsSync(dir) ? readdirSync(dir).map(name => join(dir, name)) : []
}

/** The turns of all workspaces. */
const recordsOf = (home: CheckpointHome): TurnRecord[] => storeDirs(home).flatMap(readTurnRecords)

type UndoPart = { path: string; hunks: readonly string[] | 'all' }

/** Null: whole files are restored. Undoing the undo of a hunk keeps what else has changed in the file. */
const partOf = (
  { is_partial, changes: [first] }: TurnRecord,
  {
    path,
    hunks,
    force,
  }: { path: string | undefined; hunks: readonly string[] | undefined; force: boolean },
): UndoPart | null => {
  if (hunks && path !== undefined) return { path, hunks }
  return is_partial && first && !force ? { path: first.path, hunks: 'all' } : null
}

/** Whether a record is an undo of changes, so that undoing it brings them back. */
const isUndo = (turn: TurnRecord, records: ReadonlyMap<string, TurnRecord>): boolean => {
  const undone = turn.undo_of === null ? undefined : records.get(turn.undo_of)
  return turn.undo_of !== null && !(undone && isUndo(undone, records))
}

type Continues = (streamId: string) => boolean

export class Checkpoints {
  readonly #resolve: (sessionId: string) => string | undefined
  readonly #workspaces: CheckpointWorkspaces

  constructor(options: CheckpointsOptions) {
    this.#resolve = options.resolve
    this.#workspaces = new CheckpointWorkspaces(options)
  }

  /** Compares current ids: compaction can give a session a new one. */
  #recordsOfSession(home: CheckpointHome, sessionId: string): TurnRecord[] {
    const id = this.#resolve(sessionId) ?? sessionId
    return recordsOf(home).filter(
      each => (this.#resolve(each.session_id) ?? each.session_id) === id,
    )
  }

  #find(home: CheckpointHome, sessionId: string, checkpoint: string): TurnRecord {
    const record = this.#recordsOfSession(home, sessionId).find(({ id }) => id === checkpoint)
    if (!record) throw missing('Checkpoint not found', { code: 'checkpoint_not_found' })
    return record
  }

  #pastOf(home: CheckpointHome, sessionId: string, checkpoint: string, point: Point) {
    const turn = this.#find(home, sessionId, checkpoint)
    const context = this.#workspaces.contextOf(home, turn.workspace)
    return { turn, context, past: pastStateOf(context.store.turns(), turn, point) }
  }

  async #recoverOne(home: CheckpointHome, dir: string, id: string): Promise<void> {
    if (this.#workspaces.isRunning(id)) return
    const record = readOpenRecord(dir, id)
    if (!record) return deleteOpenRecord(dir, id)
    try {
      const { root } = this.#workspaces.boundsOf(home, record.workspace)
      await this.#workspaces.exclusive(home, root, async () =>
        saveTurn(this.#workspaces.contextOf(home, root), record, {
          now: this.#workspaces.now(),
          interrupted: true,
          maxTurns: MAX_TURNS,
        }),
      )
    } catch (error) {
      this.#workspaces.log('lost the file changes of an interrupted turn', {
        error: messageOf(error),
      })
      deleteOpenRecord(dir, id)
    }
  }

  async #recoverAll(homes: readonly CheckpointHome[], continues: Continues) {
    for (const home of homes)
      for (const dir of storeDirs(home))
        for (const id of listOpenIds(dir)) if (!continues(id)) await this.#recoverOne(home, dir, id)
  }

  async #deleteRecord(home: CheckpointHome, { workspace, id }: TurnRecord): Promise<void> {
    try {
      const store = this.#workspaces.storeOf(home, workspace)
      await this.#workspaces.exclusive(home, workspace, () => store.deleteTurns([id]))
    } catch (error) {
      this.#workspaces.log('could not delete a checkpoint', { error: messageOf(error) })
    }
  }

  startTurn(start: TurnStart): CheckpointRecorder {
    return new CheckpointRecorder(start, this.#workspaces)
  }

  /** Newest first. Waits for turns that are ending. */
  async list(home: CheckpointHome, sessionId: string): Promise<TurnRecord[]> {
    // Twice: a turn that is being stopped starts its final work while the first wait runs.
    await this.#workspaces.settled()
    await this.#workspaces.settled()
    return this.#recordsOfSession(home, sessionId).sort((a, b) => b.at - a.at)
  }

  /** The diff of one file. */
  async diff(
    home: CheckpointHome,
    sessionId: string,
    checkpoint: string,
    path: string,
  ): Promise<ChangeDiff & { undone: string[] }> {
    const turn = this.#find(home, sessionId, checkpoint)
    const change = turn.changes.find(each => each.path === path)
    if (!change) throw missing('Change not found', { code: 'checkpoint_not_found' })
    const context = this.#workspaces.contextOf(home, turn.workspace)
    return { ...(await diffOf(context.store, change)), undone: await undoneHunks(context, change) }
  }

  /** The files of the workspace at a point of a turn. */
  async filesAt(home: CheckpointHome, sessionId: string, checkpoint: string, point: Point) {
    const { context, past, turn } = this.#pastOf(home, sessionId, checkpoint, point)
    return { at: past.at, notes: turn.notes, ...(await listPast(context, past)) }
  }

  /** One of them, with its difference to now. */
  async fileAt(
    home: CheckpointHome,
    sessionId: string,
    checkpoint: string,
    point: Point,
    path: string,
  ) {
    const { context, past } = this.#pastOf(home, sessionId, checkpoint, point)
    return readPast(context, past, path)
  }

  /** Restores the files of a turn. Throws a conflict while a turn runs in the same folder, because it could change the same files. */
  async restore(
    home: CheckpointHome,
    sessionId: string,
    { checkpoint, paths, hunks, force, beforeFiles }: RestoreOptions,
  ): Promise<RestoreResult> {
    const turn = this.#find(home, sessionId, checkpoint)
    const { root } = this.#workspaces.boundsOf(home, turn.workspace)
    const requireIdle = () => {
      const busy = this.#workspaces.busyFolder(root)
      if (busy === undefined) return
      const folder = busy === root ? 'this folder' : busy
      throw conflict(`A turn is running in ${folder}. Stop it or wait until it ends.`, {
        code: 'folder_busy',
      })
    }
    const [path, ...others] = paths ?? []
    if (hunks && (path === undefined || others.length > 0))
      throw invalid('Parts can be restored of one file only: name it in "paths".', {
        code: 'invalid_request',
      })
    requireIdle()
    return this.#workspaces.exclusive(home, root, async () => {
      requireIdle()
      const context = this.#workspaces.contextOf(home, turn.workspace)
      const id = randomBytes(16).toString('hex')
      const part = partOf(turn, { path, hunks, force })
      const redone = isUndo(turn, new Map(recordsOf(home).map(each => [each.id, each])))
      const about = { checkpoint: id, undo_of: turn.id, partial: part !== null, redone }
      const input = {
        id,
        now: this.#workspaces.now(),
        beforeFiles: (files: string[]) => beforeFiles?.({ ...about, paths: files }),
      }
      return part
        ? undoHunks(context, turn, { ...part, ...input })
        : undoTurn(context, turn, { paths, force, ...input })
    })
  }

  /** Completes the records of turns that a killed process left open, with the files as they are now. `continues`: turns that still run. */
  recover(homes: readonly CheckpointHome[], continues: Continues = () => false): Promise<void> {
    const work = this.#recoverAll(homes, continues)
    this.#workspaces.track(work)
    return work
  }

  /** Deletes the records of sessions that no longer exist. */
  async sweep(
    homes: readonly CheckpointHome[],
    isKept: (sessionId: string) => boolean,
  ): Promise<void> {
    for (const home of homes)
      for (const turn of recordsOf(home).filter(each => !isKept(each.session_id)))
        await this.#deleteRecord(home, turn)
  }

  /** Deletes the records of one session. */
  async remove(home: CheckpointHome, sessionId: string): Promise<void> {
    for (const turn of recordsOf(home).filter(each => each.session_id === sessionId))
      await this.#deleteRecord(home, turn)
  }

  /** Waits for pending work. */
  close(): Promise<void> {
    return this.#workspaces.settled()
  }
}
