/**
 * Crash recovery: each turn that started and did not end continues where it can (`resume.ts`), and is closed otherwise, once.
 *
 * The journal is authoritative; the turn's live file has the text that was streaming. That text becomes a `_partial`
 * message, unanswered calls get error results, open questions except plans are denied, and the log gets its closing events, so that a reader
 * that reconnects finds a finished stream. A second run changes nothing.
 */
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { type Clock, toSeconds } from '../base/clock.ts'
import { messageOf } from '../errors.ts'
import { fileStamp } from '../store/journal.ts'
import type { Sessions } from '../sessions/sessions.ts'
import type { Failure } from '../agent/types.ts'
import {
  cancelledEvent,
  closingMessages,
  failedEvent,
  closingOf,
  INTERRUPTED,
  UNRECORDED,
} from './interrupted-turn.ts'
import { type EventLog, type LoggedEvent, type LogHeader, readLiveFile } from './event-log.ts'
import { idOf, outlivesTurn } from './open-questions.ts'
import { elide } from './to-stream-event.ts'
import { rebuild, usageOf } from './live-turn.ts'
import { type ContinuedTurn, continueTurn, isFresh, isGivenUp, mayResume } from './resume.ts'
import { endEntries } from './turn-journal.ts'

type RecoverOptions = {
  /** Opens a log, or continues that of an earlier process. */
  openLog: (path: string, header: LogHeader) => EventLog
  /** Turns go on, where they can. Default: every turn is closed. */
  resumes?: boolean | undefined
  /** The process that ran them was on another machine, so there are no live files. */
  tookOver?: boolean | undefined
  /** A turn was found open and is recorded as interrupted. Must not throw. */
  onInterrupted?: (sessionId: string, streamId: string) => void
  /** The end of a turn was recorded, but perhaps not reported: the process died before its log was closed. Must not throw. */
  onUnclosed?: (sessionId: string, streamId: string) => void
  sessions: Sessions
  liveDir: string
  clock: Pick<Clock, 'now'>
  log: (message: string, extra?: Record<string, unknown>) => void
}

export type Leftover = { sessionId: string; streamId: string; path: string }

/** Writes the end of one turn to its transcript, and to its log if given. `failure`: null when the user stopped it. */
export const recoverTurn = (
  {
    sessions,
    clock,
    sessionId,
    streamId,
    path,
  }: Pick<RecoverOptions, 'sessions' | 'clock'> & Leftover,
  log?: EventLog,
  failure: Failure | null = INTERRUPTED,
): void => {
  const { messages, questions, turn } = sessions.load(sessionId)
  const events = existsSync(path) ? (readLiveFile(path)?.events ?? []) : []
  const startIndex = messages.findIndex(({ id }) => id === turn?.message_id)
  const live = rebuild(events, messages.slice(startIndex + 1), clock)
  const closing = closingMessages(live, closingOf(failure), Math.floor(toSeconds(clock.now())))
  const known = new Set(messages.map(message => message.id))
  const entries = sessions.append(sessionId, [
    ...questions
      .filter(question => !outlivesTurn(question))
      .map(question => ({
        t: 'answered' as const,
        id: idOf(question),
        kind: question.kind,
        answer: question.kind === 'approval' ? 'deny' : '',
        by: 'restart',
        reason: 'ended' as const,
      })),
    ...closing
      .filter(message => !message.id || !known.has(message.id))
      .map(message => ({ t: 'message' as const, message })),
    ...endEntries(
      sessions.require(sessionId),
      streamId,
      failure ? 'interrupted' : 'cancelled',
      usageOf(events),
    ),
  ])
  if (!log) return
  for (const entry of entries) {
    if (entry.t === 'message')
      log.append({ type: 'message', data: { message: elide(entry.message) } })
  }
  log.append(failure ? failedEvent(failure) : cancelledEvent())
  log.append({ type: 'stream_end', data: { session_id: sessionId } })
}

export type Found = {
  /** They can still be read. */
  logs: EventLog[]
  continued: ContinuedTurn[]
  /** Sessions whose last turn ended well, lately: the process may have died before it sent their queued messages. */
  done: Set<string>
}

/** Closes what an earlier process left open. */
export const recoverTurns = (deps: RecoverOptions): Found => {
  const { sessions, liveDir, tookOver = false } = deps
  mkdirSync(liveDir, { recursive: true, mode: 0o700 })
  const open = new Map(sessions.recover().map(turn => [turn.stream_id, turn]))
  const logs: EventLog[] = []
  const continued: ContinuedTurn[] = []
  const done = new Set<string>()
  const attempt = (left: Leftover, events: LoggedEvent[]): void => {
    const { sessionId, streamId, path } = left
    const header = { session_id: sessionId, stream_id: streamId, at: toSeconds(deps.clock.now()) }
    const turn = open.get(streamId)
    // Before the log is opened, which writes its header.
    const now = deps.clock.now()
    const wasGivenUp = isGivenUp(path)
    const continues = turn && deps.resumes && mayResume(turn, path, { now, tookOver })
    const wasRunning = isFresh(path, now)
    const log = deps.openLog(path, header)
    try {
      const again = continues && continueTurn(deps, turn, events, log)
      if (again === 'complete') deps.onUnclosed?.(sessionId, streamId)
      else if (again) return void continued.push(again)
      else if (turn) {
        recoverTurn({ ...deps, ...left }, log, wasGivenUp ? UNRECORDED : INTERRUPTED)
        deps.onInterrupted?.(sessionId, streamId)
      } else if (events.at(-1)?.type !== 'stream_end') {
        deps.onUnclosed?.(sessionId, streamId)
        log.append({ type: 'stream_end', data: { session_id: sessionId } })
      }
      logs.push(log)
      const last = wasRunning && sessions.row(sessionId) ? sessions.head(sessionId).turn : null
      if (last?.stream_id === streamId && last.how === 'done') done.add(sessionId)
    } catch (error) {
      // An unreadable session must not prevent the start; the next start retries.
      deps.log('a turn could not be recovered', { session_id: sessionId, error: messageOf(error) })
      log.close()
    }
  }
  for (const name of readdirSync(liveDir)) {
    const path = join(liveDir, name)
    if (!name.endsWith('.jsonl') || fileStamp(path) === undefined) continue
    const left = readLiveFile(path)
    if (left) {
      const { session_id: sessionId, stream_id: streamId } = left.header
      attempt({ sessionId, streamId, path }, left.events)
      open.delete(streamId)
    } else rmSync(path, { force: true })
  }
  // Turns without a live file, or with an empty one.
  for (const [streamId, { session_id: sessionId }] of open)
    attempt({ sessionId, streamId, path: join(liveDir, `${streamId}.jsonl`) }, [])
  return { logs, continued, done }
}
