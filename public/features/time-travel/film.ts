/** A chat as a film: what was shown at each moment, derived from its messages. Pure. */
import { type Clock, toSeconds } from '../../../lib/base/clock.ts'
import type { Message, ToolCall } from '../../../lib/schema/message.ts'
import type { LiveTurn } from '../../../lib/schema/session.ts'
import { type TranscriptState, emptyTranscript } from '../chat/chat-reducer.ts'
import { isCompaction, textOf } from '../transcript/content.ts'

/**
 * A moment: the messages before it are shown, and its fraction of the one at it. One message is one step; `messages.length`
 * is the end.
 */
export type Moment = number

export type Film = Pick<
  TranscriptState,
  'sessionId' | 'messages' | 'summaries' | 'turnUsage' | 'title'
>

const MS_PER_CHAR = 12
const MIN_TEXT_MS = 500
const MAX_TEXT_MS = 6_000
const CALL_MS = 700
const USER_MS = 1_000

/** Duration of a step at normal speed. */
export const durationOf = (message: Message): number => {
  if (message.role === 'user') return USER_MS
  if (message.role !== 'assistant') return CALL_MS
  const chars = textOf(message).length + (message.reasoning?.length ?? 0)
  return Math.min(MAX_TEXT_MS, Math.max(MIN_TEXT_MS, chars * MS_PER_CHAR))
}

/** The moment after `ms` more milliseconds at normal speed. */
export const advance = ({ messages }: Film, from: Moment, ms: number): Moment => {
  let at = from
  let left = ms
  while (left > 0) {
    const message = messages[Math.floor(at)]
    if (!message) return messages.length
    const whole = durationOf(message)
    const rest = (Math.floor(at) + 1 - at) * whole
    if (left < rest) return at + left / whole
    left -= rest
    at = Math.floor(at) + 1
  }
  return at
}

/** The moment one step before or after; a step that has begun is completed, or taken back, first. */
export const stepFrom = ({ messages }: Film, at: Moment, by: 1 | -1): Moment =>
  Math.max(0, Math.min(messages.length, by > 0 ? Math.floor(at) + 1 : Math.ceil(at) - 1))

/** The call whose result the step before the moment is; null for other steps. */
export const callAt = ({ messages }: Film, at: Moment): string | null =>
  messages[Math.floor(at) - 1]?.tool_call_id ?? null

const startsTurn = (message: Message | undefined): boolean =>
  message?.role === 'user' && !isCompaction(message)

/** The running call: the one whose result is next. */
const runningOf = (shown: readonly Message[], next: Message): ToolCall[] => {
  if (next.role !== 'tool') return []
  const calls = shown.findLast(({ role }) => role === 'assistant')?.tool_calls ?? []
  return calls.filter(({ id }) => id === next.tool_call_id)
}

/** Reasoning first, then the text, each in proportion to its length. */
const writtenOf = (next: Message, fraction: number) => {
  const [reasoning, text] = [next.reasoning ?? '', textOf(next)]
  const chars = Math.floor((reasoning.length + text.length) * fraction)
  return {
    reasoning: reasoning.slice(0, chars),
    text: text.slice(0, Math.max(0, chars - reasoning.length)),
  }
}

const NOW = { started_at: 0, model: '', provider: '', pos: 0 }

const liveAt = (
  shown: readonly Message[],
  next: Message | undefined,
  fraction: number,
  now: number,
): LiveTurn | null => {
  // The turn has ended, or its end is a card.
  if (!next || startsTurn(next) || next._error || shown.length === 0) return null
  const isWritten = next.role === 'assistant'
  return {
    ...NOW,
    stream_id: 'replay',
    started_at: now,
    message_id: isWritten ? next.id : null,
    ...(isWritten ? writtenOf(next, fraction) : { text: '', reasoning: '' }),
    tools: runningOf(shown, next).map(({ id, function: { name } }) => ({
      ...{ tid: id, name, preview: null, args: {}, started_at: now, output: '' },
    })),
  }
}

/** Returns what the transcript showed at a moment. The same list of messages as long as no message is added, so that only new rows are rendered. */
export const createScreen = (film: Film, clock: Pick<Clock, 'now'>) => {
  let shown: Message[] = []
  let startedAt = toSeconds(clock.now())
  return (at: Moment): TranscriptState => {
    const index = Math.min(film.messages.length, Math.floor(at))
    const fraction = at - index
    // A message of the user, or an error, appears at once.
    const isWhole = fraction > 0 && film.messages[index]?.role === 'user'
    const count = index + (isWhole ? 1 : 0)
    if (count !== shown.length) {
      shown = film.messages.slice(0, count)
      startedAt = toSeconds(clock.now())
    }
    const { summaries, turnUsage, sessionId, title } = film
    const live = liveAt(shown, film.messages[count], isWhole ? 0 : fraction, startedAt)
    return { ...emptyTranscript(sessionId), title, summaries, turnUsage, messages: shown, live }
  }
}
