/** From the engine's events to what goes over a stream: names of the contract, short arguments, no secrets. */
import type { AgentEvent } from '../agent/types.ts'
import type { TurnEvent } from '../schema/event.ts'
import type { Message } from '../schema/message.ts'
import { shortArgs } from './live.ts'

/** Longer tool results are fetched when they are opened. */
export const OUTPUT_SHOWN = 4_000

/** A tool result cut for the wire; `_content_length` says how much there is. Other messages stay whole. */
export const elide = (message: Message): Message =>
  message.role === 'tool' &&
  typeof message.content === 'string' &&
  message.content.length > OUTPUT_SHOWN
    ? {
        ...message,
        content: message.content.slice(0, OUTPUT_SHOWN),
        _content_length: message.content.length,
      }
    : message

type Redact = (text: string) => string

const redactArgs = (args: Record<string, string>, redact: Redact): Record<string, string> =>
  Object.fromEntries(Object.entries(args).map(([key, value]) => [key, redact(value)]))

/** Every event but `message`, which needs the message as it was recorded. */
export const toWire = (
  event: Exclude<AgentEvent, { type: 'message' }>,
  redact: Redact,
): TurnEvent => {
  switch (event.type) {
    case 'token':
    case 'reasoning':
      return {
        type: event.type,
        data: { text: redact(event.text), message_id: event.messageId },
      }
    case 'retry':
      return {
        type: 'retry',
        data: {
          message_id: event.messageId,
          attempt: event.attempt,
          delay_ms: event.delayMs,
          message: event.message,
        },
      }
    case 'tool':
      return {
        type: 'tool',
        data: {
          event_type: 'tool.started',
          name: event.name,
          preview: event.preview === null ? null : redact(event.preview),
          args: redactArgs(shortArgs(event.args), redact),
          tid: event.callId,
        },
      }
    case 'tool_output':
      return { type: 'tool_output', data: { tid: event.callId, text: redact(event.text) } }
    case 'tool_complete':
      return {
        type: 'tool_complete',
        data: {
          event_type: 'tool.completed',
          name: event.name,
          preview: event.preview === null ? null : redact(event.preview),
          args: redactArgs(shortArgs(event.args), redact),
          tid: event.callId,
          duration: Math.round(event.durationMs) / 1_000,
          is_error: event.isError,
        },
      }
    case 'warning':
      return { type: 'warning', data: { message: event.message, type: event.kind } }
  }
}
