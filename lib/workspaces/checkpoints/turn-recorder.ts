/** Records the file changes of one running turn. */
import type { Oversized } from './workspaces.ts'
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
class CallTracker {
  readonly #onStep: (calls: string[], may: MayChange) => void
  readonly #running = new Set<string>()
  #calls: string[] = []
  #paths = new Set<string>()
  readonly #flags = { workspace: false, isLost: false }

  constructor(onStep: (calls: string[], may: MayChange) => void) {
    this.#onStep = onStep
  }

  mayChange(target: Target): void {
    if (target === 'workspace') this.#flags.workspace = true
    else for (const path of target) this.#paths.add(path)
  }

  lost(): void {
    this.#flags.isLost = true
  }

  started(callId: string): void {
    this.#running.add(callId)
  }

  ended(callId: string): void {
    this.#running.delete(callId)
    this.#calls.push(callId)
    if (this.#running.size > 0) return
    const step = { calls: this.#calls, may: { paths: this.#paths, ...this.#flags } }
    this.#calls = []
    if (this.#paths.size === 0 && !this.#flags.workspace && !this.#flags.isLost) return
    this.#paths = new Set()
    Object.assign(this.#flags, { workspace: false, isLost: false })
    this.#onStep(step.calls, step.may)
  }
}

export class CheckpointRecorder implements TurnRecorder {
  readonly #start: TurnStart
  readonly #workspaces: CheckpointWorkspaces
  readonly #clock: Clock
  readonly #now: () => number
  readonly #log: (line: string, extra?: Record<string, unknown>) => void
  readonly #timeoutMs: number
  readonly #home: CheckpointHome
  readonly #workspace: string
  readonly #sessionId: string
  readonly #streamId: string
  readonly #oversized: Map<string, Oversized>
  #open: OpenRecord | undefined
  #root: string | undefined
  /** The whole workspace could not be recorded, or not in time. It is not tried again in this turn. */
  #gaveUp = false
  readonly #ended = Promise.withResolvers<void>()
  readonly #captureStep = createStepCapture()
  readonly #tracker: CallTracker

  constructor(
    start: TurnStart,
    {
      workspaces,
      clock,
      now,
      log,
      timeoutMs = TIMEOUT_MS,
    }: {
      workspaces: CheckpointWorkspaces
      clock: Clock
      /** Milliseconds since 1970 that rise with every call. */
      now: () => number
      log: (line: string, extra?: Record<string, unknown>) => void
      /** How long a turn waits for its files to be recorded; 15 s when absent. */
      timeoutMs?: number | undefined
    },
  ) {
    this.#start = start
    this.#workspaces = workspaces
    this.#clock = clock
    this.#now = now
    this.#log = log
    this.#timeoutMs = timeoutMs
    const { home, workspace, sessionId, streamId } = start
    this.#home = home
    this.#workspace = workspace
    this.#sessionId = sessionId
    this.#streamId = streamId
    const { oversized } = workspaces
    this.#oversized = oversized
    try {
      this.#root = workspaces.boundsOf(this.#home, this.#workspace).root
      workspaces.addTurn(this.#root, this.#streamId)
    } catch {
      // The workspace does not exist: there is nothing to record.
    }
    this.#tracker = new CallTracker((calls, may) => {
      if (!this.#root) return
      // Before the work waits: what changes later must count as changed after this step.
      const at = toSeconds(now())
      const work = workspaces.exclusive(this.#home, this.#root, async () => {
        if (!this.#open) return
        try {
          await this.#captureStep(
            await workspaces.contextOf(this.#home, this.#workspace),
            this.#open,
            { calls, at, may },
          )
        } catch (error) {
          log('could not record the files of a step', { error: messageOf(error) })
          this.#open.steps = [...(this.#open.steps ?? []), { calls, at, files: null }]
        }
      })
      workspaces.track(work)
      work.catch(() => undefined)
    })
  }

  #recordBefore({ store }: CheckpointContext): OpenRecord | undefined {
    return this.#start.isContinued ? store.openRecord(this.#streamId) : undefined
  }

  async #capture(target: Target): Promise<string[]> {
    const context = await this.#workspaces.contextOf(this.#home, this.#workspace)
    const { root: at } = context.bounds
    this.#open ??= this.#recordBefore(context) ?? newRecord(this.#start, at, toSeconds(this.#now()))
    const isWhole = target === 'workspace'
    const known = this.#oversized.get(at)
    if (isWhole && known && this.#clock.monotonic() - known.at < RESCAN_MS)
      throw new WorkspaceTooLargeError(known.reason)
    if (isWhole) this.#oversized.delete(at)
    if (isWhole && this.#open.scan) return []
    const notes = isWhole
      ? await captureWorkspace(context, this.#open)
      : await captureFiles(context, this.#open, target)
    if (isWhole && this.#gaveUp) {
      // The timeout has passed and the command is running, so this scan is not the state before it.
      this.#open.scan = null
      return []
    }
    this.#open.notes.push(...notes)
    if (isWhole && this.#workspaces.turnCount(at) > 1)
      this.#open.notes.push('Another chat worked in this folder at the same time.')
    context.store.writeOpenRecord(this.#open)
    return notes
  }

  /** A workspace stays too large in every turn, so each session is warned about it once. */
  #warnOnce(at: string, reason: string): boolean {
    const known = this.#oversized.get(at)
    const warned = known?.warned ?? new Set()
    const isNew = !warned.has(this.#sessionId)
    this.#oversized.set(at, {
      reason,
      at: known?.reason === reason ? known.at : this.#clock.monotonic(),
      warned,
    })
    warned.add(this.#sessionId)
    return isNew
  }

  #giveUp(target: Target, error: unknown): string[] {
    if (target === 'workspace') this.#gaveUp = true
    const reason = messageOf(error)
    const isTooLarge = error instanceof WorkspaceTooLargeError
    if (!isTooLarge) this.#log('could not record file changes', { error: reason })
    const note = isTooLarge
      ? `This folder is too large to record (${reason}). Changes made by commands can't be undone; changes made by the file tools can.`
      : `Changes of this turn can't be undone: ${reason}.`
    this.#open?.notes.push(note)
    return !isTooLarge || !this.#root || this.#warnOnce(this.#root, reason) ? [note] : []
  }

  callStarted(callId: string): void {
    this.#tracker.started(callId)
  }

  callEnded(callId: string): void {
    this.#tracker.ended(callId)
  }

  async beforeChange(target: Target): Promise<string[]> {
    if (!this.#root) return []
    if (this.#gaveUp && target === 'workspace') {
      this.#tracker.lost()
      return []
    }
    try {
      this.#tracker.mayChange(target)
      return await withTimeout(
        this.#workspaces.exclusive(this.#home, this.#root, () => this.#capture(target)),
        this.#timeoutMs,
      )
    } catch (error) {
      this.#tracker.lost()
      return this.#giveUp(target, error)
    }
  }

  stopping(): void {
    const cancel = this.#clock.timer(WIND_DOWN_MS, this.#ended.resolve)
    this.#workspaces.track(this.#ended.promise.then(cancel))
  }

  async end(continues = false): Promise<void> {
    // In a microtask: `work` below must be tracked before `settled` can resolve.
    queueMicrotask(this.#ended.resolve)
    if (!this.#root) return
    const at = this.#root
    const work = this.#workspaces.exclusive(this.#home, at, async () => {
      try {
        if (continues || (!this.#open && !this.#start.isContinued)) return
        const context = await this.#workspaces.contextOf(this.#home, this.#workspace)
        this.#open ??= this.#recordBefore(context)
        if (!this.#open) return
        const maxTurns = this.#start.maxTurns ?? MAX_TURNS
        await saveTurn(context, this.#open, { now: this.#now(), interrupted: false, maxTurns })
        this.#workspaces.track(this.#workspaces.collectGarbage(this.#home, context))
      } catch (error) {
        this.#log('could not record the file changes of a turn', { error: messageOf(error) })
      } finally {
        this.#workspaces.removeTurn(at, this.#streamId)
      }
    })
    this.#workspaces.track(work)
    await work
  }
}
