/** Records the file changes of one running turn. */
import { type Clock, toSeconds } from '../../base/clock.ts'
import { messageOf, unavailable } from '../../errors.ts'
import type { OpenRecord } from './records.ts'
import {
  type CheckpointContext,
  captureFiles,
  captureWorkspace,
  saveTurn,
} from './record-changes.ts'
import { createStepCapture, type MayChange } from './record-steps.ts'
import { WorkspaceTooLargeError } from './scan-workspace.ts'
import type { CheckpointHome, CheckpointWorkspaces } from './workspaces.ts'

/** Default of `checkpoints.max_snapshots`. */
export const MAX_TURNS = 50
/** A turn waits at most this long for its files to be recorded. */
const TIMEOUT_MS = 15_000
/** A workspace that was too large is scanned again after this time. */
const RESCAN_MS = 600_000
/** How long `list` waits for a turn that is being stopped. */
const WIND_DOWN_MS = 2_000

export type TurnStart = {
  home: CheckpointHome
  workspace: string
  sessionId: string
  streamId: string
  messageId: string
  /** Beginning of the user's message, so that the turn can be recognized in a list. */
  title: string
  /** It continues after a restart, and so does its record. */
  isContinued?: boolean
  /** How many turns to retain for this workspace. */
  maxTurns?: number | undefined
}

type Target = readonly string[] | 'workspace'

/** None of the functions rejects: a failure to record is a warning and never fails the turn. */
export type TurnRecorder = {
  /** Call before these files, or anything in the workspace, may change. Resolves to sentences about what is not recorded. */
  beforeChange: (target: Target) => Promise<string[]>
  /** Call when a tool call starts and when it has ended. What it changed is recorded before the next change is allowed. */
  callStarted: (callId: string) => void
  callEnded: (callId: string) => void
  /** Call when the turn is being stopped: its end is near, so `list` waits briefly for it. */
  stopping: () => void
  /** Call when no code of the turn runs any more. `continues`: it continues in another process, which ends the record. */
  end: (continues?: boolean) => Promise<void>
}

export type TurnRecorderOptions = {
  workspaces: CheckpointWorkspaces
  clock: Clock
  /** Milliseconds since 1970 that rise with every call. */
  now: () => number
  log: (line: string, extra?: Record<string, unknown>) => void
  /** How long a turn waits for its files to be recorded; 15 s when absent. */
  timeoutMs?: number | undefined
}

const newRecord = (start: TurnStart, root: string, at: number): OpenRecord => ({
  id: start.streamId,
  session_id: start.sessionId,
  message_id: start.messageId,
  title: start.title,
  workspace: root,
  at,
  undo_of: null,
  touched: [],
  absent: [],
  scan: null,
  notes: [],
})

/** Rejects after `timeoutMs`. A late rejection of `work` is ignored. */
const withTimeout = async <T>(work: Promise<T>, timeoutMs: number): Promise<T> => {
  const clock = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => clock.reject(unavailable('recording them took too long', { code: 'unavailable' })),
    timeoutMs,
  )
  try {
    return await Promise.race([work, clock.promise])
  } catch (error) {
    work.catch(() => undefined)
    throw error
  } finally {
    clearTimeout(timer)
  }
}

/** Follows the tool calls of a turn, and what those that run at the same time may have changed. */
const createCallTracker = (onStep: (calls: string[], may: MayChange) => void) => {
  const running = new Set<string>()
  let calls: string[] = []
  let paths = new Set<string>()
  const flags = { workspace: false, isLost: false }
  return {
    mayChange(target: Target): void {
      if (target === 'workspace') flags.workspace = true
      else for (const path of target) paths.add(path)
    },
    lost(): void {
      flags.isLost = true
    },
    started: (callId: string): void => void running.add(callId),
    ended(callId: string): void {
      running.delete(callId)
      calls.push(callId)
      if (running.size > 0) return
      const step = { calls, may: { paths, ...flags } }
      calls = []
      if (paths.size === 0 && !flags.workspace && !flags.isLost) return
      paths = new Set()
      Object.assign(flags, { workspace: false, isLost: false })
      onStep(step.calls, step.may)
    },
  }
}

export const createTurnRecorder = (
  start: TurnStart,
  { workspaces, clock, now, log, timeoutMs = TIMEOUT_MS }: TurnRecorderOptions,
): TurnRecorder => {
  const { home, workspace, sessionId, streamId } = start
  const { oversized } = workspaces
  let open: OpenRecord | undefined
  let root: string | undefined
  /** The whole workspace could not be recorded, or not in time. It is not tried again in this turn. */
  let gaveUp = false
  const ended = Promise.withResolvers<void>()
  try {
    root = workspaces.boundsOf(home, workspace).root
    workspaces.addTurn(root, streamId)
  } catch {
    // The workspace does not exist: there is nothing to record.
  }

  const recordBefore = ({ store }: CheckpointContext): OpenRecord | undefined =>
    start.isContinued ? store.openRecord(streamId) : undefined

  const capture = async (target: Target): Promise<string[]> => {
    const context = await workspaces.contextOf(home, workspace)
    const { root: at } = context.bounds
    open ??= recordBefore(context) ?? newRecord(start, at, toSeconds(now()))
    const isWhole = target === 'workspace'
    const known = oversized.get(at)
    if (isWhole && known && clock.monotonic() - known.at < RESCAN_MS)
      throw new WorkspaceTooLargeError(known.reason)
    if (isWhole) oversized.delete(at)
    if (isWhole && open.scan) return []
    const notes = isWhole
      ? await captureWorkspace(context, open)
      : await captureFiles(context, open, target)
    if (isWhole && gaveUp) {
      // The timeout has passed and the command is running, so this scan is not the state before it.
      open.scan = null
      return []
    }
    open.notes.push(...notes)
    if (isWhole && workspaces.turnCount(at) > 1)
      open.notes.push('Another chat worked in this folder at the same time.')
    context.store.writeOpenRecord(open)
    return notes
  }

  /** A workspace stays too large in every turn, so each session is warned about it once. */
  const warnOnce = (at: string, reason: string): boolean => {
    const known = oversized.get(at)
    const warned = known?.warned ?? new Set()
    const isNew = !warned.has(sessionId)
    oversized.set(at, {
      reason,
      at: known?.reason === reason ? known.at : clock.monotonic(),
      warned,
    })
    warned.add(sessionId)
    return isNew
  }

  const captureStep = createStepCapture()
  const tracker = createCallTracker((calls, may) => {
    if (!root) return
    // Before the work waits: what changes later must count as changed after this step.
    const at = toSeconds(now())
    const work = workspaces.exclusive(home, root, async () => {
      if (!open) return
      try {
        await captureStep(await workspaces.contextOf(home, workspace), open, { calls, at, may })
      } catch (error) {
        log('could not record the files of a step', { error: messageOf(error) })
        open.steps = [...(open.steps ?? []), { calls, at, files: null }]
      }
    })
    workspaces.track(work)
    work.catch(() => undefined)
  })

  const giveUp = (target: Target, error: unknown): string[] => {
    if (target === 'workspace') gaveUp = true
    const reason = messageOf(error)
    const isTooLarge = error instanceof WorkspaceTooLargeError
    if (!isTooLarge) log('could not record file changes', { error: reason })
    const note = isTooLarge
      ? `This folder is too large to record (${reason}). Changes made by commands can't be undone; changes made by the file tools can.`
      : `Changes of this turn can't be undone: ${reason}.`
    open?.notes.push(note)
    return !isTooLarge || !root || warnOnce(root, reason) ? [note] : []
  }

  return {
    async beforeChange(target) {
      if (!root) return []
      if (gaveUp && target === 'workspace') {
        tracker.lost()
        return []
      }
      try {
        tracker.mayChange(target)
        return await withTimeout(
          workspaces.exclusive(home, root, () => capture(target)),
          timeoutMs,
        )
      } catch (error) {
        tracker.lost()
        return giveUp(target, error)
      }
    },
    callStarted: tracker.started,
    callEnded: tracker.ended,
    stopping() {
      const cancel = clock.timer(WIND_DOWN_MS, ended.resolve)
      workspaces.track(ended.promise.then(cancel))
    },
    async end(continues = false) {
      // In a microtask: `work` below must be tracked before `settled` can resolve.
      queueMicrotask(ended.resolve)
      if (!root) return
      const at = root
      const work = workspaces.exclusive(home, at, async () => {
        try {
          if (continues || (!open && !start.isContinued)) return
          const context = await workspaces.contextOf(home, workspace)
          open ??= recordBefore(context)
          if (!open) return
          const maxTurns = start.maxTurns ?? MAX_TURNS
          await saveTurn(context, open, { now: now(), interrupted: false, maxTurns })
          workspaces.track(workspaces.collectGarbage(home, context))
        } catch (error) {
          log('could not record the file changes of a turn', { error: messageOf(error) })
        } finally {
          workspaces.removeTurn(at, streamId)
        }
      })
      workspaces.track(work)
      await work
    },
  }
}
