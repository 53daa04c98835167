/** The last messages of a turn that did not finish: what had streamed, a stub for each unanswered call, and the reason. */
import type { Failure } from '../agent/types.ts'
import type { NewMessage } from '../schema/message.ts'
import type { FailureType } from '../schema/event.ts'
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
  error: 'Error',
}

/** Of a turn that ended because the service did. */
export const INTERRUPTED = {
  type: 'interrupted',
  message: 'The service stopped while this turn was running.',
  hint: 'What had been said is kept. Send a message to go on.',
} as const satisfies Failure

export const CANCEL_MARKER = '*Task cancelled.*'

/** `**<Label>:** <text>`, then the hint in italics: the form clients know. */
export const failureText = ({ type, message, hint }: Failure): string =>
  `**${LABELS[type]}:** ${message}${hint ? `\n\n*${hint}*` : ''}`

const withoutThinking = (text: string): string =>
  text.replace(/<think(?:ing)?>[\s\S]*?(?:<\/think(?:ing)?>|$)/gi, '').trim()

/**
 * In the order they belong into the journal. `stopped` is what an unanswered tool call is told.
 * A history with a call and no result is refused by providers, and a reader wants to see what had been printed.
 */
export const closingMessages = (
  live: LiveState,
  { stopped, note }: { stopped: string; note: string },
  timestamp: number,
): NewMessage[] => {
  const messages: NewMessage[] = []
  const { messageId, text, reasoning } = live.unfinished()
  const spoken = withoutThinking(text)
  // Stopped while it was still thinking: what it had thought is all there is.
  if (spoken || reasoning) {
    messages.push({
      ...(messageId ? { id: messageId } : {}),
      role: 'assistant',
      content: spoken,
      ...(reasoning ? { reasoning } : {}),
      _partial: true,
      timestamp,
    })
  }
  for (const [callId, name] of live.unanswered()) {
    const output = live.outputOf(callId)
    const results = live.resultsOf(callId)
    messages.push({
      role: 'tool',
      tool_call_id: callId,
      name,
      content: JSON.stringify({
        ...(output ? { output } : {}),
        ...(results.length > 0 ? { results } : {}),
        error: stopped,
      }),
      timestamp,
    })
  }
  messages.push({ role: 'assistant', content: note, _error: true, timestamp })
  return messages
}
