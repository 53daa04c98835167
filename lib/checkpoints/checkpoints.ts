/** Undo of whole turns: what files were before a turn changed them, listed, compared and put back. One depot a workspace. */
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { conflict, messageOf, missing, unavailable } from '../errors.ts'
import type { Bounds } from '../store/dir-handle.ts'
import { realPath } from '../store/path-within.ts'
import { mutex } from '../store/mutex.ts'
import {
  type CheckpointStore,
  checkpointDir,
  deleteOpenRecord,
  openCheckpointStore,
  listOpenIds,
  readOpenRecord,
  readTurnRecords,
} from './checkpoint-store.ts'
import {
  finishRecord,
  type CheckpointContext,
  captureWorkspace,
  captureFiles,
} from './record-changes.ts'
import type { OpenRecord, TurnRecord } from './records.ts'
import { type ScanLimits, WorkspaceTooLargeError } from './scan-workspace.ts'
import { type ChangeDiff, diffOf, type RestoreResult, undoTurn } from './undo.ts'

/** agent-home §2.1, `checkpoints`. */
const MAX_TURNS = 50
/** A turn does not wait longer for its files to be recorded. */
const PATIENCE_MS = 15_000
/** A folder that was too large is looked through again after this. */
const LOOK_AGAIN_S = 600
/** How long a list waits for a turn that is winding down. */
const WIND_DOWN_MS = 2_000

export type CheckpointHome = { readonly name: string; readonly dir: string }

export type CheckpointsOptions = {
  /** The workspace at its real place and what is hidden in it; throws when it is not there. */
  boundsOf: (home: CheckpointHome, workspace: string) => Bounds
  /** Search path for git. */
  path: string | undefined
  /** Seconds since 1970. */
  now: () => number
  /** The id a session has now; undefined when it is gone. */
  resolve: (sessionId: string) => string | undefined
  log: (line: string, extra?: Record<string, unknown>) => void
  limits?: ScanLimits
}

export type TurnStart = {
  home: CheckpointHome
  workspace: string
  sessionId: string
  streamId: string
  messageId: string
  /** What the person wrote, to find the turn again. */
  title: string
  /** Older turns of the workspace are forgotten. */
  maxTurns?: number | undefined
}

/** Watches over one turn. Neither verb ever rejects. */
export type TurnRecorder = {
  /** Before these files, or anything in the workspace, may change. Answers what could not be recorded. */
  beforeChange: (what: readonly string[] | 'workspace') => Promise<string[]>
  /** The turn was stopped: its end is near, and worth a moment's waiting for whoever asks for the list. */
  stopping: () => void
  /** When nothing of the turn runs any more. */
  end: () => Promise<void>
}

export type Checkpoints = ReturnType<typeof createCheckpoints>

export const createCheckpoints = (options: CheckpointsOptions) => {
  const { now, log, limits } = options
  const inTurn = mutex()
  /** Turns at work, by workspace. */
  const working = new Map<string, Set<string>>()
  const depots = new Map<string, Promise<CheckpointStore>>()
  const closing = new Set<Promise<unknown>>()
  /** Workspaces beyond the bounds, since when, and the sessions that were told. */
  const tooLarge = new Map<string, { why: string; at: number; told: Set<string> }>()

  const boundsOf = (home: CheckpointHome, workspace: string): Bounds => {
    const { root, isHidden } = options.boundsOf(home, workspace)
    const own = realPath(join(home.dir, 'checkpoints'))
    return {
      root,
      isHidden: real => real === own || real.startsWith(`${own}/`) || isHidden(real),
    }
  }

  /** Opened once; one that could not be opened is tried again. */
  const depotOf = (home: CheckpointHome, root: string): Promise<CheckpointStore> => {
    const dir = checkpointDir(home.dir, root)
    const known = depots.get(dir)
    // Somebody may have thrown the folder away.
    if (known && existsSync(join(dir, 'webui', 'turns'))) return known
    const opening = openCheckpointStore(dir, root, { path: options.path })
    depots.set(dir, opening)
    opening.catch(() => depots.delete(dir))
    return opening
  }

  const roomOf = async (home: CheckpointHome, workspace: string): Promise<CheckpointContext> => {
    const bounds = boundsOf(home, workspace)
    return { store: await depotOf(home, bounds.root), bounds, ...(limits && { limits }) }
  }

  const oneAtATime = <T>(home: CheckpointHome, root: string, work: () => Promise<T>) =>
    inTurn(checkpointDir(home.dir, root), work)

  const finish = async (
    room: CheckpointContext,
    open: OpenRecord,
    interrupted: boolean,
    most: number,
  ) => {
    const { store: depot } = room
    const record = await finishRecord(room, open, { now: now(), interrupted })
    const { changes, folders_gone, folders_made } = record
    if (changes.length + folders_gone.length + folders_made.length > 0) depot.writeTurn(record)
    deleteOpenRecord(depot.dir, open.id)
    const turns = depot.turns()
    await depot.deleteTurns(turns.slice(0, Math.max(0, turns.length - most)).map(({ id }) => id))
  }

  const tidy = (home: CheckpointHome, { store: depot }: CheckpointContext) =>
    oneAtATime(home, depot.root, async () => depot.git?.collectGarbage()).catch((error: unknown) =>
      log('a checkpoint store was not tidied', { error: messageOf(error) }),
    )

  const track = (work: Promise<unknown>): void => {
    closing.add(work)
    const done = () => void closing.delete(work)
    work.then(done, done)
  }

  const leave = (root: string, streamId: string): void => {
    const here = working.get(root)
    here?.delete(streamId)
    if (here?.size === 0) working.delete(root)
  }

  /** Every record of a home, with the folder it lies in. */
  const recordsOf = (home: CheckpointHome): TurnRecord[] => {
    const dir = join(home.dir, 'checkpoints')
    const names = existsSync(dir) ? readdirSync(dir) : []
    return names.flatMap(name => readTurnRecords(join(dir, name)))
  }

  /** By the ids sessions have now: compression gives a session another one. */
  const recordsIn = (home: CheckpointHome, sessionId: string): TurnRecord[] => {
    const id = options.resolve(sessionId) ?? sessionId
    return recordsOf(home).filter(
      each => (options.resolve(each.session_id) ?? each.session_id) === id,
    )
  }

  const find = (home: CheckpointHome, sessionId: string, checkpoint: string): TurnRecord => {
    const found = recordsIn(home, sessionId).find(({ id }) => id === checkpoint)
    if (!found) throw missing('There is no such checkpoint', { code: 'checkpoint_not_found' })
    return found
  }

  const recoverOne = async (home: CheckpointHome, dir: string, id: string): Promise<void> => {
    const found = readOpenRecord(dir, id)
    const isRunning = [...working.values()].some(ids => ids.has(id))
    if (!found || isRunning) return
    try {
      const { root } = boundsOf(home, found.workspace)
      await oneAtATime(home, root, async () =>
        finish(await roomOf(home, root), found, true, MAX_TURNS),
      )
    } catch (error) {
      log('the changes of an interrupted turn are lost', { error: messageOf(error) })
      deleteOpenRecord(dir, id)
    }
  }

  const forget = async (home: CheckpointHome, { workspace, id }: TurnRecord): Promise<void> => {
    try {
      const depot = await depotOf(home, workspace)
      await oneAtATime(home, workspace, () => depot.deleteTurns([id]))
    } catch (error) {
      log('a checkpoint was not removed', { error: messageOf(error) })
    }
  }

  return {
    open(start: TurnStart): TurnRecorder {
      const { home, workspace, streamId } = start
      let open: OpenRecord | undefined
      let root: string | undefined
      /** The whole workspace could not be recorded in time or at all: it is not tried again in this turn. */
      let gaveUp = false
      const ended = Promise.withResolvers<void>()
      const record = (at: string): OpenRecord => ({
        id: streamId,
        session_id: start.sessionId,
        message_id: start.messageId,
        title: start.title,
        workspace: at,
        at: now(),
        undo_of: null,
        touched: [],
        absent: [],
        scan: null,
        notes: [],
      })
      try {
        root = boundsOf(home, workspace).root
        working.set(root, (working.get(root) ?? new Set()).add(streamId))
      } catch {
        // The workspace is not there: what a command makes of that is its own affair.
      }

      const take = async (what: readonly string[] | 'workspace'): Promise<string[]> => {
        const room = await roomOf(home, workspace)
        open ??= record(room.bounds.root)
        const isWhole = what === 'workspace'
        const known = tooLarge.get(room.bounds.root)
        if (isWhole && known && now() - known.at < LOOK_AGAIN_S)
          throw new WorkspaceTooLargeError(known.why)
        if (isWhole) tooLarge.delete(room.bounds.root)
        if (isWhole && open.scan) return []
        const notes = isWhole
          ? await captureWorkspace(room, open)
          : await captureFiles(room, open, what)
        if (isWhole && gaveUp) {
          // Too late: the command has begun, and this is no state of before.
          open.scan = null
          return []
        }
        open.notes.push(...notes)
        if (isWhole && (working.get(room.bounds.root)?.size ?? 0) > 1)
          open.notes.push('Another conversation worked in this folder at the same time.')
        room.store.writeOpenRecord(open)
        return notes
      }

      const giveUp = (what: readonly string[] | 'workspace', error: unknown): string[] => {
        if (what === 'workspace') gaveUp = true
        const why = messageOf(error)
        if (!(error instanceof WorkspaceTooLargeError))
          log('changes are not recorded', { error: why })
        const note =
          error instanceof WorkspaceTooLargeError
            ? `This folder is too large to be recorded (${why}): what commands change cannot be undone, only what the file tools write.`
            : `The changes of this turn cannot be undone: ${why}.`
        open?.notes.push(note)
        if (!(error instanceof WorkspaceTooLargeError) || !root) return [note]
        // Said once a conversation: it is as true in every turn.
        const known = tooLarge.get(root)
        const told = known?.told ?? new Set()
        const isNew = !told.has(start.sessionId)
        tooLarge.set(root, { why, at: known?.why === why ? known.at : now(), told })
        told.add(start.sessionId)
        return isNew ? [note] : []
      }

      return {
        async beforeChange(what) {
          if (!root || (gaveUp && what === 'workspace')) return []
          const work = oneAtATime(home, root, () => take(what))
          const clock = Promise.withResolvers<never>()
          const timer = setTimeout(
            () => clock.reject(unavailable('recording them took too long')),
            PATIENCE_MS,
          )
          try {
            return await Promise.race([work, clock.promise])
          } catch (error) {
            // It may still fail behind us; that was said already.
            work.catch(() => undefined)
            return giveUp(what, error)
          } finally {
            clearTimeout(timer)
          }
        },
        stopping() {
          const late = setTimeout(ended.resolve, WIND_DOWN_MS)
          late.unref()
          track(ended.promise.then(() => clearTimeout(late)))
        },
        async end() {
          // After the work below is known as such.
          queueMicrotask(ended.resolve)
          if (!root) return
          const place = root
          const work = oneAtATime(home, place, async () => {
            try {
              if (!open) return
              const room = await roomOf(home, workspace)
              await finish(room, open, false, start.maxTurns ?? MAX_TURNS)
              track(tidy(home, room))
            } catch (error) {
              log('the changes of a turn were not recorded', { error: messageOf(error) })
            } finally {
              leave(place, streamId)
            }
          })
          track(work)
          await work
        },
      }
    },

    /** Newest first. */
    async list(home: CheckpointHome, sessionId: string): Promise<TurnRecord[]> {
      // Twice: the end of a turn that was waited for is work itself.
      await Promise.allSettled([...closing])
      await Promise.allSettled([...closing])
      return recordsIn(home, sessionId).sort((a, b) => b.at - a.at)
    },

    async diff(
      home: CheckpointHome,
      sessionId: string,
      checkpoint: string,
      path: string,
    ): Promise<ChangeDiff> {
      const turn = find(home, sessionId, checkpoint)
      const change = turn.changes.find(each => each.path === path)
      if (!change) throw missing('There is no such change')
      const { store: depot } = await roomOf(home, turn.workspace)
      return diffOf(depot, change)
    },

    /** Refused while a turn works in the same folder: it would be changing what is put back. */
    async restore(
      home: CheckpointHome,
      sessionId: string,
      {
        checkpoint,
        paths,
        force,
      }: { checkpoint: string; paths?: readonly string[] | undefined; force: boolean },
    ): Promise<RestoreResult> {
      const turn = find(home, sessionId, checkpoint)
      const { root } = boundsOf(home, turn.workspace)
      const busy = () => {
        if (working.has(root))
          throw conflict('A turn is running in this folder; stop it or wait for its end.')
      }
      busy()
      return oneAtATime(home, root, async () => {
        busy()
        const room = await roomOf(home, turn.workspace)
        const id = randomBytes(16).toString('hex')
        return undoTurn(room, turn, { paths, force, id, now: now() })
      })
    },

    /** Closes what a killed service left open: as the files stand now. */
    recover(homes: readonly CheckpointHome[]): Promise<void> {
      const work = (async () => {
        for (const home of homes) {
          const dir = join(home.dir, 'checkpoints')
          for (const name of existsSync(dir) ? readdirSync(dir) : [])
            for (const id of listOpenIds(join(dir, name)))
              await recoverOne(home, join(dir, name), id)
        }
      })()
      track(work)
      return work
    },

    /** Records of sessions that are gone for good. */
    async sweep(
      homes: readonly CheckpointHome[],
      isKept: (sessionId: string) => boolean,
    ): Promise<void> {
      for (const home of homes)
        for (const turn of recordsOf(home).filter(each => !isKept(each.session_id)))
          await forget(home, turn)
    },

    /** With its session, for good. */
    async remove(home: CheckpointHome, sessionId: string): Promise<void> {
      for (const turn of recordsOf(home).filter(each => each.session_id === sessionId))
        await forget(home, turn)
    },

    close: async (): Promise<void> => void (await Promise.allSettled([...closing])),
  }
}
