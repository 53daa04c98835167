/** Records the file changes of one running turn, and which versions of files each of its tool calls left. */
import { type Sentence, sentence } from '../../base/sentences.ts'
import { toSeconds } from '../../base/clock.ts'
import { messageOf, unavailable } from '../../errors.ts'
import type { CheckpointContext } from './checkpoint-store.ts'
import { readContent } from './file-content.ts'
import {
  captureFiles,
  differences,
  MAX_TOUCHED_BYTES,
  recordedPath,
  resolvePath,
  saveTurn,
} from './record-changes.ts'
import { type OpenRecord, type Snapshot, sameVersion, type Versions } from './records.ts'
import { WorkspaceTooLargeError } from './scan-workspace.ts'
import type { CheckpointHome, CheckpointWorkspaces } from './workspaces.ts'

/** Default of `checkpoints.max_snapshots`. */
export const MAX_TURNS = 50
/** How long `list` waits for a turn that is being stopped. */
const WIND_DOWN_MS = 2_000
/** Versions in all steps of a turn. Later steps are marked as not recorded. */
const MAX_VERSIONS = 20_000

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
  beforeChange: (target: Target) => Promise<Sentence[]>
  /** Call when a tool call starts and when it has ended. What it changed is recorded before the next change is allowed. */
  callStarted: (callId: string) => void
  callEnded: (callId: string) => void
  /** Call when the turn is being stopped: its end is near, so `list` waits briefly for it. */
  stopping: () => void
  /** Call when no code of the turn runs any more. `continues`: it continues in another process, which ends the record. */
  end: (continues?: boolean) => Promise<void>
}

/** What tool calls that run at the same time may have changed. `isLost`: it could not be captured before it changed. */
type Step = { calls: string[]; paths: Set<string>; workspace: boolean; isLost: boolean }

const newStep = (): Step => ({ calls: [], paths: new Set(), workspace: false, isLost: false })

/** Rejects after `timeoutMs`. A late rejection of `work` is ignored. */
const withTimeout = async <T>(work: Promise<T>, timeoutMs: number): Promise<T> => {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(
    () => late.reject(unavailable('recording them took too long', { code: 'unavailable' })),
    timeoutMs,
  )
  work.catch(() => undefined)
  return Promise.race([work, late.promise]).finally(() => clearTimeout(timer))
}

export class CheckpointRecorder implements TurnRecorder {
  readonly #start: TurnStart
  readonly #workspaces: CheckpointWorkspaces
  /** Undefined: the workspace does not exist, so there is nothing to record. */
  readonly #root: string | undefined
  #open: OpenRecord | undefined
  /** The workspace before the first command; undefined: not yet read from the record of a continued turn. */
  #before: Snapshot | null | undefined
  /** The whole workspace could not be recorded, or not in time. It is not tried again in this turn. */
  #gaveUp = false
  readonly #ended = Promise.withResolvers<void>()
  readonly #running = new Set<string>()
  #step = newStep()
  /** After the last step with a command, and the last known version of each file that a step changed. */
  #last: Snapshot | undefined
  readonly #latest: Versions = new Map()
  #versions = 0
  #isSlow = false

  constructor(start: TurnStart, workspaces: CheckpointWorkspaces) {
    this.#start = start
    this.#workspaces = workspaces
    try {
      this.#root = workspaces.boundsOf(start.home, start.workspace).root
      workspaces.addTurn(this.#root, start.streamId)
    } catch {
      // It does not exist.
    }
  }

  callStarted(callId: string): void {
    this.#running.add(callId)
  }

  callEnded(callId: string): void {
    this.#running.delete(callId)
    this.#step.calls.push(callId)
    if (this.#running.size > 0) return
    const step = this.#step
    this.#step = newStep()
    if (!this.#root || (step.paths.size === 0 && !step.workspace && !step.isLost)) return
    // Before the work waits: what changes later must count as changed after this step.
    const at = toSeconds(this.#workspaces.now())
    const work = this.#exclusive(async () => {
      const open = this.#open
      if (!open) return
      const context = this.#context()
      const files = await this.#filesOf(step, context, open).catch((error: unknown) => {
        this.#workspaces.log('could not record the files of a step', { error: messageOf(error) })
        return null
      })
      if (files?.size === 0) return
      open.steps = [
        ...(open.steps ?? []),
        { calls: step.calls, at, files: files && [...files].sort(([a], [b]) => (a < b ? -1 : 1)) },
      ]
      context.store.writeOpenRecord(open)
    })
    this.#workspaces.track(work)
    work.catch(() => undefined)
  }

  async beforeChange(target: Target): Promise<Sentence[]> {
    if (!this.#root) return []
    if (target !== 'workspace') for (const path of target) this.#step.paths.add(path)
    else if (this.#gaveUp) this.#step.isLost = true
    else this.#step.workspace = true
    if (this.#gaveUp && target === 'workspace') return []
    try {
      const work = this.#exclusive(() => this.#capture(target))
      return await withTimeout(work, this.#workspaces.timeoutMs)
    } catch (error) {
      this.#step.isLost = true
      return this.#giveUp(this.#root, target, error)
    }
  }

  stopping(): void {
    const cancel = this.#workspaces.clock.timer(WIND_DOWN_MS, this.#ended.resolve)
    this.#workspaces.track(this.#ended.promise.then(cancel))
  }

  async end(continues = false): Promise<void> {
    // In a microtask: `work` below must be tracked before `settled` can resolve.
    queueMicrotask(this.#ended.resolve)
    const root = this.#root
    if (!root) return
    const work = this.#exclusive(async () => {
      try {
        if (continues || (!this.#open && !this.#start.isContinued)) return
        const context = this.#context()
        const open = this.#open ?? context.store.openRecord(this.#start.streamId)
        if (!open) return
        const { maxTurns = MAX_TURNS } = this.#start
        await saveTurn(context, open, { now: this.#workspaces.now(), interrupted: false, maxTurns })
      } catch (error) {
        this.#workspaces.log('could not record the file changes of a turn', {
          error: messageOf(error),
        })
      } finally {
        this.#workspaces.removeTurn(root, this.#start.streamId)
      }
    })
    this.#workspaces.track(work)
    await work
  }

  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    return this.#workspaces.exclusive(this.#start.home, this.#root ?? '', work)
  }

  #context(): CheckpointContext {
    return this.#workspaces.contextOf(this.#start.home, this.#start.workspace)
  }

  #newRecord(root: string): OpenRecord {
    const { streamId, sessionId, messageId, title } = this.#start
    return {
      id: streamId,
      session_id: sessionId,
      message_id: messageId,
      title,
      workspace: root,
      at: toSeconds(this.#workspaces.now()),
      undo_of: null,
      touched: [],
      absent: [],
      snapshot: null,
      notes: [],
    }
  }

  async #capture(target: Target): Promise<Sentence[]> {
    const context = this.#context()
    const { store, bounds } = context
    const { isContinued, streamId } = this.#start
    const open =
      this.#open ??
      (isContinued ? store.openRecord(streamId) : undefined) ??
      this.#newRecord(bounds.root)
    this.#open = open
    if (this.#before === undefined) {
      this.#before = open.snapshot === null ? null : await store.readSnapshot(open.snapshot)
      for (const [path, version] of (open.steps ?? []).flatMap(({ files }) => files ?? []))
        this.#latest.set(path, version)
    }
    let notes: Sentence[]
    if (target !== 'workspace') notes = captureFiles(context, open, this.#before, target)
    else {
      if (this.#before) return []
      const snapshot = await store.takeSnapshot(context)
      // The timeout has passed and the command is running, so this is not the state before it.
      if (this.#gaveUp) return []
      this.#before = snapshot
      open.snapshot = store.putSnapshot(snapshot)
      notes = snapshot.notes
      if (this.#workspaces.turnCount(bounds.root) > 1)
        open.notes.push('Another chat worked in this folder at the same time.')
    }
    open.notes.push(...notes.map(String))
    store.writeOpenRecord(open)
    return notes
  }

  #giveUp(root: string, target: Target, error: unknown): Sentence[] {
    if (target === 'workspace') this.#gaveUp = true
    const reason = messageOf(error)
    const isTooLarge = error instanceof WorkspaceTooLargeError
    if (!isTooLarge) this.#workspaces.log('could not record file changes', { error: reason })
    const note = sentence(isTooLarge ? 'checkpoint.large_folder' : 'checkpoint.none', { reason })
    this.#open?.notes.push(`${note}`)
    // It stays too large in every turn, so each session is warned about it once.
    return !isTooLarge || this.#workspaces.isFirstWarning(root, this.#start.sessionId) ? [note] : []
  }

  /** The files that a step changed, as it left them; null: not known. */
  async #filesOf(
    { paths, workspace, isLost }: Step,
    context: CheckpointContext,
    open: OpenRecord,
  ): Promise<Versions | null> {
    const { store, bounds, limits } = context
    if (isLost || (workspace && (this.#isSlow || !this.#before))) return null
    const now: Versions = new Map()
    if (workspace && this.#before) {
      const startedAt = performance.now()
      const snapshot = await store.takeSnapshot(context)
      this.#isSlow = performance.now() - startedAt > limits.stepMs
      for (const [path, { after }] of differences(this.#last ?? this.#before, snapshot))
        now.set(path, after)
      this.#last = snapshot
    }
    const touched = new Map(open.touched)
    for (const path of [...paths].map(each => recordedPath(bounds.root, each))) {
      const result = readContent(...resolvePath(bounds, path), MAX_TOUCHED_BYTES)
      if ('problem' in result) return null
      now.set(path, result.content && store.put(result.content))
    }
    for (const [path, version] of now) {
      const before = [this.#latest, touched, this.#before?.files].find(each => each?.has(path))
      if (sameVersion(before?.get(path) ?? null, version)) now.delete(path)
      else this.#latest.set(path, version)
    }
    this.#versions += now.size
    return this.#versions <= MAX_VERSIONS ? now : null
  }
}
