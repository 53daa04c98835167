/** The closing messages of an interrupted turn: its partial text, a result for each unanswered call, and the reason. */
import type { Sentences } from '../schema/sentence.ts'
import { sentence, withCodes } from '../base/sentences.ts'
import type { Failure } from '../agent/types.ts'
import type { TurnEvent } from '../schema/event.ts'
import type { NewMessage } from '../schema/message.ts'
import type { FailureType } from '../schema/failure-type.ts'
import type { LiveState } from './live-turn.ts'

const LABELS: Record<FailureType, string> = {
  quota_exhausted: 'Out of credits',
  rate_limit: 'Rate limit reached',
  auth_mismatch: 'Authentication failed',
  model_not_found: 'Model not found',
  context_overflow: 'Conversation too long',
  network: 'Network error',
  no_response: 'No response received',
  interrupted: 'Interrupted',
  budget_reached: 'Budget reached',
  content_refused: 'Refused by the provider',
  wrong_address: 'Wrong address',
  blocked: 'Provider not usable from here',
  not_ready: 'Model not ready',
  model_memory: 'Not enough memory',
  error: 'Error',
}

/** The failure of a turn that ended because the service stopped. */
export const INTERRUPTED = {
  type: 'interrupted',
  message: sentence('turn.interrupted'),
  hint: sentence('turn.partial_saved'),
} as const satisfies Failure

/** The failure of a turn whose end could not be written at the time, and is written later. */
export const UNRECORDED = {
  type: 'error',
  message:
    'This turn was ended because it could not be saved, for example because the disk was full.',
  hint: 'What had been saved is above. Send a message to continue.',
} as const satisfies Failure

type Closing = { stopped: string; note: string; sentences?: Sentences }

const CANCEL_MARKER = '*Task cancelled.*'
/** The error of a call without a result, when the user stopped the turn. */
const STOPPED = 'Stopped by the user.'

export const cancelledEvent = (): TurnEvent => ({
  type: 'cancel',
  data: { message: 'Cancelled by user' },
})

export const failedEvent = ({ type, message, hint }: Failure): TurnEvent => ({
  type: 'apperror',
  data: withCodes({ message, type, ...(hint && { hint }) }),
})

/** `**<Label>:** <text>`, then the hint in italics: the format that API clients expect. */
export const failureText = ({ type, message, hint }: Failure): string =>
  `**${LABELS[type]}:** ${message}${hint ? `\n\n*${hint}*` : ''}`

/** What closes a turn: of a failed one its failure, of another one (null) that the user stopped it. */
export const closingOf = (failure: Failure | null): Closing => {
  if (!failure) return { stopped: STOPPED, note: CANCEL_MARKER }
  const { sentences } = withCodes(failure)
  return {
    stopped: `${failure.message}`,
    note: failureText(failure),
    ...(sentences && { sentences }),
  }
}

/** The failure of a text that `failureText` wrote. */
export const failureIn = (text: string): { type: FailureType; message: string } => {
  const [, label = '', message = text] = /^\*\*(.+?):\*\* (.*)/.exec(text) ?? []
  const type = (Object.keys(LABELS) as FailureType[]).find(key => LABELS[key] === label)
  return { type: type ?? 'error', message }
}

const withoutThinking = (text: string): string =>
  text.replace(/<think(?:ing)?>[\s\S]*?(?:<\/think(?:ing)?>|$)/gi, '').trim()

/**
 * In journal order. `stopped` is the error in the result of an unanswered tool call.
 * Providers reject a history with a call that has no result, and its partial output is worth showing.
 */
export const closingMessages = (
  live: LiveState,
  { stopped, note, sentences }: Closing,
  timestamp: number,
): NewMessage[] => {
  return [
    ...partialMessages(live, timestamp),
    ...unansweredResults(live, stopped, timestamp),
    {
      role: 'assistant',
      content: note,
      _error: true,
      ...(sentences && { _sentences: sentences }),
      timestamp,
    },
  ]
}

/** The text that was streamed; none, or one. */
export const partialMessages = (live: LiveState, timestamp: number): NewMessage[] => {
  const { messageId, text, reasoning } = live.unfinished()
  const visible = withoutThinking(text)
  // A turn stopped while the model was reasoning has reasoning only.
  if (!visible && !reasoning) return []
  return [
    {
      ...(messageId ? { id: messageId } : {}),
      role: 'assistant',
      content: visible,
      ...(reasoning ? { reasoning } : {}),
      _partial: true,
      timestamp,
    },
  ]
}

/** A result with this error for each unanswered call of a turn, and what the call has produced so far. */
export const unansweredResults = (
  live: LiveState,
  error: string,
  timestamp: number,
): NewMessage[] =>
  [...live.unanswered()].map(([callId, name]) => {
    const output = live.outputOf(callId)
    const results = live.resultsOf(callId)
    return {
      role: 'tool',
      tool_call_id: callId,
      name,
      content: JSON.stringify({
        ...(output ? { output } : {}),
        ...(results.length > 0 ? { results } : {}),
        error,
      }),
      timestamp,
    }
  })
