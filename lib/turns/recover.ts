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
import { outlivesTurn } from '../schema/question.ts'
import type { Recovered, Sessions } from '../sessions/sessions.ts'
import type { Failure } from '../agent/types.ts'
import {
  cancelledEvent,
  closingMessages,
  failedEvent,
  failureIn,
  closingOf,
  INTERRUPTED,
  UNRECORDED,
} from './interrupted-turn.ts'
import { EventLog, type LoggedEvent, readLiveFile, toReaders } from './event-log.ts'
import { elide } from './to-stream-event.ts'
import { rebuild, usageOf } from './live-turn.ts'
import { type ContinuedTurn, continueTurn, isFresh, isGivenUp, mayResume } from './resume.ts'
import { endEntries, endedAnswers } from './turn-journal.ts'
import type { TurnsOptions } from './turns.ts'

type Leftover = { sessionId: string; streamId: string; path: string }

/** Writes the end of one turn to its transcript, and to its log if given. `failure`: null when the user stopped it. */
export const recoverTurn = (
  sessions: Sessions,
  clock: Clock,
  { sessionId, streamId, path }: Leftover,
  failure: Failure | null,
  log?: EventLog,
): void => {
  const { messages, questions, turn } = sessions.load(sessionId)
  const events = existsSync(path) ? (readLiveFile(path)?.events ?? []) : []
  const startIndex = messages.findIndex(({ id }) => id === turn?.message_id)
  const live = rebuild(events, messages.slice(startIndex + 1), clock)
  const closing = closingMessages(live, closingOf(failure), Math.floor(toSeconds(clock.now())))
  const ids = new Set(messages.map(message => message.id))
  const how = failure ? 'interrupted' : 'cancelled'
  const entries = sessions.append(sessionId, [
    ...endedAnswers(questions.filter(question => !outlivesTurn(question))),
    ...closing
      .filter(message => !message.id || !ids.has(message.id))
      .map(message => ({ t: 'message' as const, message })),
    ...endEntries(sessions.require(sessionId), streamId, how, usageOf(events)),
  ])
  if (!log) return
  for (const entry of entries) {
    if (entry.t === 'message')
      log.append({ type: 'message', data: { message: elide(entry.message) } })
  }
  log.append(failure ? failedEvent(failure) : cancelledEvent())
  log.append({ type: 'stream_end', data: { session_id: sessionId } })
}

/** Reports a turn that was found open and is recorded as interrupted. */
export const reportInterrupted = (
  { onEnded }: TurnsOptions,
  sessionId: string,
  streamId: string,
): void => onEnded?.({ sessionId, streamId, failure: INTERRUPTED, text: '', isAttended: true })

/** Reports a turn whose end was recorded, but perhaps not reported: the process died before its log was closed. */
const reportUnclosed = (
  { sessions, onEnded }: TurnsOptions,
  sessionId: string,
  streamId: string,
): void => {
  const { messages, turn } = sessions.load(sessionId)
  if (turn?.stream_id !== streamId || turn.how === 'cancelled') return
  const last = messages.findLast(({ role }) => role === 'assistant')
  const text = typeof last?.content === 'string' ? last.content : ''
  const failure = last?._error ? failureIn(text) : null
  onEnded?.({ sessionId, streamId, failure, text, isAttended: true })
}

/** The recorded messages of a turn that another machine ran: its log is there. */
const replay = (sessions: Sessions, turn: Recovered, log: EventLog): void => {
  const { messages } = sessions.load(turn.session_id)
  const start = messages.findIndex(({ id }) => id === turn.message_id)
  // A turn that continues with results of a client has no message of its own.
  for (const message of start < 0 ? [] : messages.slice(start))
    log.append({ type: 'message', data: { message: elide(message) } })
  log.skipUnknown(turn.resumed ?? 0)
}

type RecoveredTurns = {
  /** They can still be read. */
  logs: EventLog[]
  continued: ContinuedTurn[]
  /** Sessions whose last turn ended well, lately: the process may have died before it sent their queued messages. */
  doneSessions: Set<string>
}

/** Closes what an earlier process left open. */
export const recoverTurns = (options: TurnsOptions): RecoveredTurns => {
  const { sessions, hub, liveDir, clock, resume } = options
  const tookOver = resume?.tookOver === true
  mkdirSync(liveDir, { recursive: true, mode: 0o700 })
  const open = new Map(sessions.recover().map(turn => [turn.stream_id, turn]))
  const result: RecoveredTurns = { logs: [], continued: [], doneSessions: new Set() }
  const attempt = (leftover: Leftover, events: LoggedEvent[]): void => {
    const { sessionId, streamId, path } = leftover
    const now = clock.now()
    const header = { session_id: sessionId, stream_id: streamId, at: toSeconds(now) }
    const turn = open.get(streamId)
    // Before the log is opened, which writes its header.
    const wasGivenUp = isGivenUp(path)
    const continues = turn && resume && mayResume(turn, path, { now, tookOver })
    const wasRunning = isFresh(path, now)
    const log = new EventLog(path, header, toReaders(hub, header), resume)
    try {
      if (turn && tookOver && events.length === 0) replay(sessions, turn, log)
      const again = continues && continueTurn(options, turn, events, log)
      if (again === 'complete') reportUnclosed(options, sessionId, streamId)
      else if (again) return void result.continued.push(again)
      else if (turn) {
        recoverTurn(sessions, clock, leftover, wasGivenUp ? UNRECORDED : INTERRUPTED, log)
        reportInterrupted(options, sessionId, streamId)
      } else if (events.at(-1)?.type !== 'stream_end') {
        reportUnclosed(options, sessionId, streamId)
        log.append({ type: 'stream_end', data: { session_id: sessionId } })
      }
      result.logs.push(log)
      const last = wasRunning && sessions.row(sessionId) ? sessions.head(sessionId).turn : null
      if (last?.stream_id === streamId && last.how === 'done') result.doneSessions.add(sessionId)
    } catch (error) {
      // An unreadable session must not prevent the start; the next start retries.
      const about = { session_id: sessionId, error: messageOf(error) }
      options.log('a turn could not be recovered', about)
      log.close()
    }
  }
  for (const name of readdirSync(liveDir)) {
    const path = join(liveDir, name)
    if (!name.endsWith('.jsonl') || fileStamp(path) === undefined) continue
    const file = readLiveFile(path)
    if (file) {
      const { session_id: sessionId, stream_id: streamId } = file.header
      attempt({ sessionId, streamId, path }, file.events)
      open.delete(streamId)
    } else rmSync(path, { force: true })
  }
  // Turns without a live file, or with an empty one.
  for (const [streamId, { session_id: sessionId }] of open)
    attempt({ sessionId, streamId, path: join(liveDir, `${streamId}.jsonl`) }, [])
  return result
}
