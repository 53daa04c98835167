/** From the engine's events to what goes over a stream: names of the contract, short arguments, no secrets. */
import { formatTokens } from '../agent/tokens.ts'
import type { AgentEvent, SubagentRef } from '../agent/types.ts'
import type { TurnEvent } from '../schema/event.ts'
import type { Message } from '../schema/message.ts'
import type { SummaryRef } from '../schema/summary.ts'
import { truncateColored } from '../agent/colors.ts'
import { shortArgs } from './short-args.ts'
import { countResultLines, MAX_SHOWN_CHARS, shortenResult } from './result-preview.ts'

/** A tool result cut for the wire; `_content_length` and `_content_lines` say how much there is. Other messages stay whole. */
export const elide = (message: Message): Message => {
  const { role, content, _output } = message
  if (role !== 'tool' || typeof content !== 'string' || content.length <= MAX_SHOWN_CHARS)
    return message
  return {
    ...message,
    content: shortenResult(content),
    ...(_output !== undefined && { _output: truncateColored(_output, MAX_SHOWN_CHARS) }),
    _content_length: content.length,
    _content_lines: countResultLines(content),
  }
}

type Redact = (text: string) => string

const redactArgs = (args: Record<string, string>, redact: Redact): Record<string, string> =>
  Object.fromEntries(Object.entries(args).map(([key, value]) => [key, redact(value)]))

const placeOf = ({ parent, index }: SubagentRef) => ({ parent_tid: parent, task_index: index })

/** A subagent's call goes by the name that clients of the contract know. */
const named = ({ name, owner }: { name: string; owner?: SubagentRef }) =>
  owner ? { name: 'subagent_progress', tool: name, ...placeOf(owner) } : { name }

export const compressingEvent: TurnEvent = {
  type: 'compressing',
  data: { message: 'Summarising the earlier conversation…' },
}

/** `summary` is what was recorded; null when it holds for this turn alone. */
export const toCompressedEvent = (
  { beforeTokens, afterTokens }: Extract<AgentEvent, { type: 'compressed' }>,
  summary: SummaryRef | null,
): TurnEvent => ({
  type: 'compressed',
  data: {
    message: `Earlier conversation summarised: about ${formatTokens(beforeTokens)} → ${formatTokens(afterTokens)} tokens.`,
    last_prompt_tokens: afterTokens,
    ...(summary && { summary }),
  },
})

/** Every event but those that need what was recorded of them. What comes in pieces has been through `masking.ts`. */
export const toTurnEvent = (
  event: Exclude<AgentEvent, { type: 'message' | 'compressed' }>,
  redact: Redact,
): TurnEvent => {
  switch (event.type) {
    case 'token':
    case 'reasoning':
      if (event.owner) {
        const what = event.type === 'token' ? { text: event.text } : { reasoning: event.text }
        return { type: 'subagent', data: { ...placeOf(event.owner), ...what } }
      }
      return {
        type: event.type,
        data: { text: event.text, message_id: event.messageId },
      }
    case 'retry':
      if (event.owner)
        return { type: 'subagent', data: { ...placeOf(event.owner), again: event.message } }
      return {
        type: 'retry',
        data: {
          message_id: event.messageId,
          attempt: event.attempt,
          attempts: event.attempts,
          delay_ms: event.delayMs,
          message: redact(event.message),
        },
      }
    case 'tool':
      return {
        type: 'tool',
        data: {
          event_type: 'tool.started',
          ...named(event),
          preview: event.preview === null ? null : redact(event.preview),
          args: redactArgs(shortArgs(event.args), redact),
          tid: event.callId,
        },
      }
    case 'tool_output':
      return {
        type: 'tool_output',
        data: {
          tid: event.callId,
          text: event.text,
          ...(event.owner && { parent_tid: event.owner.parent }),
        },
      }
    case 'tool_complete':
      return {
        type: 'tool_complete',
        data: {
          event_type: 'tool.completed',
          ...named(event),
          preview: event.preview === null ? null : redact(event.preview),
          args: redactArgs(shortArgs(event.args), redact),
          tid: event.callId,
          duration: Math.round(event.durationMs) / 1_000,
          is_error: event.isError,
        },
      }
    case 'subagent':
      return {
        type: 'subagent',
        data: { ...placeOf(event.owner), goal: redact(event.goal), status: event.status },
      }
    case 'warning':
      return { type: 'warning', data: { message: redact(event.message), type: event.kind } }
    case 'compressing':
      return compressingEvent
  }
}
