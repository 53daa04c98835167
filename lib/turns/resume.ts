/**
 * Turns that go on after a restart, a kill, or a crash of the machine: at the next step boundary, under the same stream.
 *
 * Everything is derived from the journal and the live file. Streamed text that was not complete is withdrawn and streamed
 * again. Of the calls without a result, those that wait for an answer are made again and wait for the same question;
 * the others may have run in part, so each gets a result that says so. No tool runs twice unasked.
 */
import { sentence, withCodes } from '../base/sentences.ts'
import { existsSync, statSync, utimesSync } from 'node:fs'
import { fromSeconds, toSeconds } from '../base/clock.ts'
import type { Resumed } from '../agent/types.ts'
import type { Message, NewMessage, ToolCall } from '../schema/message.ts'
import type { Question } from '../schema/question.ts'
import type { Folded } from '../sessions/fold.ts'
import type { Recovered } from '../sessions/sessions.ts'
import { contentText } from '../sessions/entries.ts'
import type { EventLog, LoggedEvent } from './event-log.ts'
import { partialMessages, unansweredResults } from './interrupted-turn.ts'
import { type LiveState, rebuild, usageOf } from './live-turn.ts'
import { elide, toTurnEvent } from './to-stream-event.ts'
import { endEntries, endedAnswers } from './turn-journal.ts'
import type { TurnsOptions } from './turns.ts'

export type ContinuedTurn = {
  sessionId: string
  streamId: string
  /** Milliseconds since 1970. */
  startedAt: number
  userMessageId: string
  /** Of the messages it has recorded. */
  messageIds: string[]
  /** The user's message, when nothing was recorded after it: it may not have been prepared for the model. */
  text: string | null
  by: 'task' | 'program' | null
  /** Still open, for calls of `resumed`. */
  questions: Question[]
  resumed: Resumed
  live: LiveState
  log: EventLog
}

/** After so many kills or crashes without another message of the model, the turn itself may be what ends the process. */
const MAX_RESUMES = 3

const CALL_INTERRUPTED =
  'The service was restarted while this call ran. It may have been done in part: check before you do it again.'

/** Later, what it was about to do may not be wanted any more. */
const MAX_PAUSE_MS = 24 * 3_600_000
/** Writing a file sets both of its times. One that was restored or copied has the time of its writing, and a newer one of its inode. */
const COPIED_MS = 1_000

/** Whether this live file was written here, and lately. A turn of a backup or a copy has ended elsewhere, or still runs there. `now`: milliseconds since 1970. */
export const isFresh = (path: string, now: number): boolean => {
  const file = statSync(path, { throwIfNoEntry: false })
  if (!file || file.ctimeMs - file.mtimeMs > COPIED_MS) return false
  // In the future: the clock was ahead, and how long ago that was is not known.
  return Math.abs(now - file.mtimeMs) < MAX_PAUSE_MS
}

/** 1970. A time of a file can be set on a full disk. */
const GIVEN_UP = 0

/** Its turn has ended, although that could not be written: a later process records the end and does not continue it. */
export const markGivenUp = (path: string): void => {
  if (existsSync(path)) utimesSync(path, GIVEN_UP, GIVEN_UP)
}

export const isGivenUp = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.mtimeMs === GIVEN_UP

/** `path`: its live file. `tookOver`: the turn ran on another machine of the cluster, where that file is. */
export const mayResume = (
  { resumable, resumed = 0, at }: Recovered,
  path: string,
  { now, tookOver }: { now: number; tookOver: boolean },
): boolean => {
  if (resumable !== true || resumed >= MAX_RESUMES) return false
  if (tookOver && !existsSync(path)) return now - fromSeconds(at) < MAX_PAUSE_MS
  return isFresh(path, now)
}

const unansweredCalls = (messages: readonly Message[]): ToolCall[] => {
  const at = messages.findLastIndex(({ tool_calls: calls }) => calls?.length)
  const answered = new Set(messages.slice(at + 1).map(({ tool_call_id: id }) => id))
  return (messages[at]?.tool_calls ?? []).filter(({ id }) => !answered.has(id))
}

/** The whole answer was recorded: only the end of the turn is missing. */
const isComplete = (last: Message | undefined): boolean =>
  last?.role === 'assistant' && !last.tool_calls?.length && !last._partial

/** Questions that the turn asks again: those of its first call without a result, or, between two steps, all. */
const questionsOf = ({ questions }: Folded, [first]: readonly ToolCall[]): Question[] =>
  questions.filter(({ call_id: id }) => id === first?.id)

const withdrawPartial = (log: EventLog, live: LiveState, now: number): void => {
  const { messageId, text, reasoning } = live.partial()
  // A wait for the provider ends as well.
  const writing = live.writing()
  if (text === '' && reasoning === '' && !writing && !live.retry()) return
  const withdrawal = {
    type: 'retry',
    messageId: messageId ?? writing?.message_id ?? '',
    attempt: 1,
    attempts: 1,
    delayMs: 0,
    reason: 'cut',
    message: 'The service was restarted.',
  } as const
  const event = toTurnEvent(withdrawal, message => message, now)
  log.append(event)
  live.apply(event)
}

/** An external agent does not write again what it has written. */
const closingOf = (live: LiveState, isExternal: boolean, timestamp: number): NewMessage[] => [
  ...(isExternal ? partialMessages(live, timestamp) : []),
  ...unansweredResults(live, CALL_INTERRUPTED, timestamp),
]

/** `complete`: the turn had given its whole answer, and now its end is recorded. Null when it cannot go on. */
export const continueTurn = (
  { sessions, clock }: TurnsOptions,
  turn: Recovered,
  events: LoggedEvent[],
  log: EventLog,
): ContinuedTurn | 'complete' | null => {
  const { session_id: sessionId } = turn
  const folded = sessions.load(sessionId)
  const start = folded.messages.findIndex(({ id }) => id === turn.message_id)
  const user = folded.messages[start]
  if (!user) return null
  const own = folded.messages.slice(start + 1)
  const usage = usageOf(events)
  const messageIds = own.map(({ id }) => id)
  const { stream_id: streamId, external: isExternal } = turn
  // A text of an external agent may be followed by more: its own session knows.
  if (!isExternal && isComplete(own.at(-1))) {
    const limit = own.at(-1)?._step_limit === undefined ? null : 'steps'
    const row = sessions.require(sessionId)
    sessions.append(sessionId, endEntries(row, streamId, 'done', usage, limit))
    log.append({ type: 'done', data: { usage, message_ids: messageIds } })
    log.append({ type: 'stream_end', data: { session_id: sessionId } })
    return 'complete'
  }
  const unanswered = unansweredCalls(own)
  // What an external agent asked ended with its process.
  const questions = isExternal ? [] : questionsOf(folded, unanswered)
  const isWaiting = unanswered.length > 0 && questions.length > 0
  const live = rebuild(events, own, clock)
  const results = isWaiting
    ? []
    : closingOf(live, isExternal === true, Math.floor(toSeconds(clock.now())))
  const entries = sessions.append(sessionId, [
    ...endedAnswers(folded.questions.filter(question => !questions.includes(question))),
    ...results.map(message => ({ t: 'message' as const, message })),
    { t: 'turn_resumed', stream_id: streamId },
  ])
  const added = entries.flatMap(entry => (entry.t === 'message' ? [entry.message] : []))
  for (const message of added) {
    const event = { type: 'message', data: { message: elide(message) } } as const
    log.append(event)
    live.apply(event)
  }
  live.stopTools()
  if (!isExternal) withdrawPartial(log, live, clock.now())
  const message = sentence('turn.restarted')
  log.append({ type: 'warning', data: withCodes({ type: 'resumed', message }) })
  return {
    sessionId,
    streamId,
    startedAt: fromSeconds(turn.at),
    userMessageId: user.id,
    messageIds: [...messageIds, ...added.map(({ id }) => id)],
    text: own.length === 0 ? contentText(user.content) : null,
    by: turn.by ?? null,
    questions,
    resumed: {
      steps: own.filter(({ role }) => role === 'assistant').length,
      usage,
      calls: isWaiting ? unanswered : [],
    },
    live,
    log,
  }
}
