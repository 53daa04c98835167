/**
 * Crash recovery: closes each turn that started and did not end, once.
 *
 * The journal is authoritative; the turn's live file has the text that was streaming. That text becomes a `_partial`
 * message, unanswered calls get error results, open questions except plans are denied, and the log gets its closing events, so that a reader
 * that reconnects finds a finished stream. A second run changes nothing.
 */
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { messageOf } from '../errors.ts'
import { fileStamp } from '../store/journal.ts'
import type { TurnEvent } from '../schema/event.ts'
import type { Message } from '../schema/message.ts'
import { emptyUsage, type Usage } from '../schema/usage.ts'
import type { Sessions } from '../sessions/types.ts'
import { closingMessages, failureText, INTERRUPTED } from './interrupted-turn.ts'
import { createEventLog, type EventLog, type LoggedEvent, readLiveFile } from './event-log.ts'
import { createLiveState, type LiveState } from './live-turn.ts'
import { idOf, outlivesTurn } from './questions.ts'
import { elide } from './to-stream-event.ts'
import { endEntries } from './turn-journal.ts'

type RecoverOptions = {
  /** A turn was found open and is recorded as interrupted. Must not throw. */
  onInterrupted?: (sessionId: string, streamId: string) => void
  /** The end of a turn was recorded, but perhaps not reported: the process died before its log was closed. Must not throw. */
  onUnclosed?: (sessionId: string, streamId: string) => void
  sessions: Sessions
  liveDir: string
  now: () => number
  log: (message: string, extra?: Record<string, unknown>) => void
}

type Owner = { parent_tid?: string; task_index?: number }
type WireTool = Owner & {
  tid: string
  name: string
  tool?: string
  preview: string | null
  args: Record<string, string>
}

const ownerOf = ({ parent_tid: parent, task_index: index = 0 }: Owner) =>
  parent === undefined ? {} : { owner: { parent, index } }

const RETRY = { type: 'retry', messageId: '', attempt: 1, attempts: 0, delayMs: 0 } as const

const replayEvent = (live: LiveState, { type, data }: LoggedEvent): void => {
  if (type === 'token' || type === 'reasoning') {
    const delta = data as { text: string; message_id: string }
    live.apply({ type, messageId: delta.message_id, text: delta.text })
  } else if (type === 'retry') {
    const { message_id, attempt } = data as { message_id: string; attempt: number }
    live.apply({ type, messageId: message_id, attempt, attempts: 0, delayMs: 0, message: '' })
  } else if (type === 'tool') {
    const { tid, name, preview, args, tool, ...owner } = data as WireTool
    live.apply({ type, callId: tid, name: tool ?? name, preview, args, ...ownerOf(owner) })
  } else if (type === 'tool_complete') {
    const { tid, name, preview, args, tool, duration, is_error, ...owner } = data as WireTool & {
      duration: number | null
      is_error: boolean
    }
    // For the turn's own calls the journal knows which have ended.
    if (owner.parent_tid === undefined) return
    const ended = { durationMs: (duration ?? 0) * 1_000, isError: is_error }
    live.apply({
      type,
      callId: tid,
      name: tool ?? name,
      preview,
      args,
      ...ended,
      ...ownerOf(owner),
    })
  } else if (type === 'tool_output') {
    const { tid, text, ...owner } = data as { tid: string; text: string } & Owner
    live.apply({ type, callId: tid, text, ...ownerOf(owner) })
  } else if (type === 'subagent') {
    const { goal, status, text, reasoning, again, ...owner } = data as Extract<
      TurnEvent,
      { type: 'subagent' }
    >['data']
    const by = { parent: owner.parent_tid, index: owner.task_index }
    if (status) live.apply({ type, owner: by, goal: goal ?? '', status })
    if (again !== undefined) live.apply({ ...RETRY, message: again, owner: by })
    if (text) live.apply({ type: 'token', messageId: '', text, owner: by })
    if (reasoning) live.apply({ type: 'reasoning', messageId: '', text: reasoning, owner: by })
  }
}

/**
 * The live state when the process died. The journal decides which calls are unanswered:
 * a message reaches it before its event reaches the log, so the log's `message` events are not used.
 */
const rebuild = (events: LoggedEvent[], recorded: Message[], now: () => number): LiveState => {
  const live = createLiveState(now)
  for (const message of recorded) {
    if (message.role !== 'user') live.apply({ type: 'message', message })
  }
  for (const event of events) replayEvent(live, event)
  return live
}

/** The usage up to the last model call that ended. */
const usageOf = (events: LoggedEvent[]): Usage => {
  const last = events.findLast(({ type }) => type === 'usage')
  return last ? (last.data as { usage: Usage }).usage : emptyUsage
}

type Leftover = { sessionId: string; streamId: string; path: string }

/** Writes the end of one turn to its transcript, and to its log if given. */
export const recoverTurn = (
  { sessions, now, sessionId, streamId, path }: Omit<RecoverOptions, 'liveDir' | 'log'> & Leftover,
  log?: EventLog,
): void => {
  const { messages, questions } = sessions.load(sessionId)
  const events = existsSync(path) ? (readLiveFile(path)?.events ?? []) : []
  const startIndex = messages.findLastIndex(message => message.role === 'user' && !message._error)
  const live = rebuild(events, messages.slice(startIndex + 1), now)
  const closing = closingMessages(
    live,
    { stopped: INTERRUPTED.message, note: failureText(INTERRUPTED) },
    Math.floor(now()),
  )
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
      })),
    ...closing
      .filter(message => !message.id || !known.has(message.id))
      .map(message => ({ t: 'message' as const, message })),
    ...endEntries(sessions.require(sessionId), streamId, 'interrupted', usageOf(events)),
  ])
  if (!log) return
  for (const entry of entries) {
    if (entry.t === 'message')
      log.append({ type: 'message', data: { message: elide(entry.message) } })
  }
  log.append({ type: 'apperror', data: INTERRUPTED })
  log.append({ type: 'stream_end', data: { session_id: sessionId } })
}

/** Closes what a former process left open; answers the logs that can still be read. */
export const recoverTurns = (deps: RecoverOptions): EventLog[] => {
  const { sessions, liveDir } = deps
  mkdirSync(liveDir, { recursive: true, mode: 0o700 })
  const open = new Map(sessions.recover().map(turn => [turn.stream_id, turn.session_id]))
  const logs: EventLog[] = []
  const attempt = (left: Leftover, events: LoggedEvent[]): void => {
    const { sessionId, streamId, path } = left
    const header = { session_id: sessionId, stream_id: streamId, at: deps.now() }
    const log = createEventLog(path, header)
    try {
      if (open.has(streamId)) {
        recoverTurn({ ...deps, ...left }, log)
        deps.onInterrupted?.(sessionId, streamId)
      } else if (events.at(-1)?.type !== 'stream_end') {
        deps.onUnclosed?.(sessionId, streamId)
        log.append({ type: 'stream_end', data: { session_id: sessionId } })
      }
      logs.push(log)
    } catch (error) {
      // An unreadable session must not prevent the start; the next start retries.
      deps.log('a turn could not be recovered', { session_id: sessionId, error: messageOf(error) })
      log.close()
    }
    open.delete(streamId)
  }
  for (const name of readdirSync(liveDir)) {
    const path = join(liveDir, name)
    if (!name.endsWith('.jsonl') || fileStamp(path) === undefined) continue
    const left = readLiveFile(path)
    if (left) {
      const { session_id: sessionId, stream_id: streamId } = left.header
      attempt({ sessionId, streamId, path }, left.events)
    } else rmSync(path, { force: true })
  }
  // Turns without a live file, or with an empty one.
  for (const [streamId, sessionId] of [...open]) {
    attempt({ sessionId, streamId, path: join(liveDir, `${streamId}.jsonl`) }, [])
  }
  return logs
}
