/** From the engine's events to those of the stream: masked secrets, shortened arguments, wire names. */
import { changeWords, sentence, withCodes } from '../base/sentences.ts'
import { toSeconds } from '../base/clock.ts'
import { formatTokens } from '../agent/tokens.ts'
import type { AgentEvent, SubagentRef } from '../agent/types.ts'
import { StreamRedactor } from '../base/redact/redact.ts'
import type { TurnEvent } from '../schema/event.ts'
import type { Message } from '../schema/message.ts'
import type { PendingRetry } from '../schema/retry.ts'
import type { SummaryRef } from '../schema/summary.ts'
import { truncateColored } from '../agent/colors.ts'
import { countResultLines, MAX_SHOWN_CHARS, shortenResult } from './result-preview.ts'

/** Truncates a tool result for the wire; `_content_length` and `_content_lines` give its full size. Other messages are unchanged. */
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

const MAX_ARG_CHARS = 120
const MAX_ARGS = 4

/** The first four arguments as text, each truncated to 120 characters. */
export const shortArgs = (args: Record<string, unknown>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(args)
      .slice(0, MAX_ARGS)
      .map(([key, value]) => {
        const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
        return [key, text.length > MAX_ARG_CHARS ? `${text.slice(0, MAX_ARG_CHARS)}...` : text]
      }),
  )

const redactArgs = (args: Record<string, string>, redact: Redact): Record<string, string> =>
  Object.fromEntries(Object.entries(args).map(([key, value]) => [key, redact(value)]))

const ownerFields = ({ parent, index }: SubagentRef) => ({ parent_tid: parent, task_index: index })

/** API clients expect a subagent's call under the name `subagent_progress`. */
const nameFields = ({ name, owner }: { name: string; owner?: SubagentRef }) =>
  owner ? { name: 'subagent_progress', tool: name, ...ownerFields(owner) } : { name }

export const compressingEvent: TurnEvent = {
  type: 'compressing',
  data: withCodes({ message: sentence('turn.compacting') }),
}

/** `summary` is the recorded one; null when it applies to this turn only. */
export const toCompressedEvent = (
  { beforeTokens, afterTokens }: Extract<AgentEvent, { type: 'compressed' }>,
  summary: SummaryRef | null,
): TurnEvent => ({
  type: 'compressed',
  data: withCodes({
    message: sentence('turn.compacted', {
      before: formatTokens(beforeTokens),
      after: formatTokens(afterTokens),
    }),
    last_prompt_tokens: afterTokens,
    ...(summary && { summary }),
  }),
})

type RetryEvent = Extract<AgentEvent, { type: 'retry' }>

/** `now`: milliseconds since 1970. */
const toPendingRetry = (
  { attempt, attempts, delayMs, reason, provider, message }: RetryEvent,
  now: number,
): PendingRetry =>
  withCodes({
    attempt,
    attempts,
    delay_ms: delayMs,
    until: toSeconds(now + delayMs),
    message,
    ...(reason && { reason }),
    ...(provider !== undefined && { provider }),
  })

/** Converts every event except those that are recorded. Streamed text was masked by a `StreamMask`. `now`: milliseconds since 1970. */
export const toTurnEvent = (
  event: Exclude<AgentEvent, { type: 'message' | 'sent' | 'compressed' }>,
  redact: Redact,
  now: number,
): TurnEvent => {
  switch (event.type) {
    case 'token':
    case 'reasoning':
      if (event.owner) {
        const what = event.type === 'token' ? { text: event.text } : { reasoning: event.text }
        return { type: 'subagent', data: { ...ownerFields(event.owner), ...what } }
      }
      return {
        type: event.type,
        data: { text: event.text, message_id: event.messageId },
      }
    case 'retry': {
      const retry = toPendingRetry({ ...event, message: changeWords(event.message, redact) }, now)
      if (event.owner) {
        const owner = ownerFields(event.owner)
        return { type: 'subagent', data: { ...owner, again: retry.message, retry } }
      }
      return {
        type: 'retry',
        data: { message_id: event.messageId, ...retry, delay_ms: event.delayMs },
      }
    }
    case 'tool':
      return {
        type: 'tool',
        data: {
          event_type: 'tool.started',
          ...nameFields(event),
          preview: event.preview === null ? null : redact(event.preview),
          args: redactArgs(shortArgs(event.args), redact),
          tid: event.callId,
        },
      }
    case 'tool_writing':
      return {
        type: 'tool_writing',
        data: {
          ...{ message_id: event.messageId, index: event.index, name: event.name },
          ...(event.path !== undefined && { path: redact(event.path) }),
          text: event.text,
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
          ...nameFields(event),
          preview: event.preview === null ? null : redact(event.preview),
          args: redactArgs(shortArgs(event.args), redact),
          tid: event.callId,
          duration: Math.round(event.durationMs) / 1_000,
          is_error: event.isError,
          ...(event.hooks && { hooks: event.hooks.map(one => ({ ...one })) }),
          ...(event.ranIn && { ran_in: event.ranIn }),
        },
      }
    case 'subagent':
      return {
        type: 'subagent',
        data: { ...ownerFields(event.owner), goal: redact(event.goal), status: event.status },
      }
    case 'warning':
      return {
        type: 'warning',
        data: withCodes({ message: changeWords(event.message, redact), type: event.kind }),
      }
    case 'compressing':
      return compressingEvent
  }
}

type Delta = Extract<AgentEvent, { type: 'token' | 'reasoning' | 'tool_output' | 'tool_writing' }>

const sourceOfOwner = (owner: SubagentRef | undefined): string =>
  owner ? `task ${owner.parent} ${owner.index}` : ''

/** The source of a delta: the turn itself, one of its subagents, or a tool call. */
const sourceOf = (event: Delta): string => {
  if (event.type === 'tool_output') return `call ${event.callId}`
  return event.type === 'tool_writing' ? '' : sourceOfOwner(event.owner)
}

/** The source whose text ends with this event; null for none. */
const sourceEndedBy = (event: AgentEvent): string | null => {
  switch (event.type) {
    case 'tool_complete':
      return `call ${event.callId}`
    case 'subagent':
    case 'tool':
    // Withdrawn text, but it counts when nothing follows.
    case 'retry':
      return sourceOfOwner(event.owner)
    case 'message':
      return ''
    default:
      return null
  }
}

const kindOf = (event: Delta): string => {
  if (event.type === 'tool_output') return event.type
  const kind = `${event.type} ${event.messageId}`
  return event.type === 'tool_writing' ? `${kind} ${event.index}` : kind
}

const isDelta = (event: AgentEvent): event is Delta =>
  ['token', 'reasoning', 'tool_output', 'tool_writing'].includes(event.type)

type OpenText = { kind: string; last: Delta; stream: StreamRedactor }

/**
 * Masks secrets in streamed text before it reaches the live log, including secrets that are split across two deltas.
 * Preserves the order of each source, and releases its buffered text before the event that follows it.
 */
export class StreamMask {
  readonly #open = new Map<string, OpenText>()

  /** Events that can be recorded and sent now, in order. */
  push(event: AgentEvent): AgentEvent[] {
    if (isDelta(event)) return this.#pushDelta(event)
    const source = sourceEndedBy(event)
    return source === null ? [event] : [...this.#end(source), event]
  }

  /** Everything that is still buffered, at the end of the turn. */
  flush(): AgentEvent[] {
    return [...this.#open.keys()].flatMap(source => this.#end(source))
  }

  #pushDelta(event: Delta): AgentEvent[] {
    const source = sourceOf(event)
    const kind = kindOf(event)
    const former = this.#open.get(source)
    const before = former && former.kind !== kind ? this.#end(source) : []
    const own = this.#open.get(source) ?? { kind, last: event, stream: new StreamRedactor() }
    own.last = event
    this.#open.set(source, own)
    const text = own.stream.push(event.text)
    const isEmpty = text === '' && !('path' in event)
    return isEmpty ? before : [...before, { ...event, text }]
  }

  #end(source: string): AgentEvent[] {
    const own = this.#open.get(source)
    this.#open.delete(source)
    const text = own?.stream.end() ?? ''
    return own && text !== '' ? [{ ...own.last, text }] : []
  }
}
