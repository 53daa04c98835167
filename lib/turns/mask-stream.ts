/**
 * Masks secrets in streamed text before it reaches the live log, including secrets that are split across two deltas.
 * Preserves the order of each source, and releases its buffered text before the event that follows it.
 */
import type { AgentEvent } from '../agent/types.ts'
import { StreamRedactor } from '../base/redact/redact.ts'

type Delta = Extract<AgentEvent, { type: 'token' | 'reasoning' | 'tool_output' }>

/** The source of a delta: the turn itself, one of its subagents, or a tool call. */
const sourceOf = (event: Delta): string =>
  event.type === 'tool_output'
    ? `call ${event.callId}`
    : event.owner
      ? `task ${event.owner.parent} ${event.owner.index}`
      : ''

const kindOf = (event: Delta): string =>
  event.type === 'tool_output' ? event.type : `${event.type} ${event.messageId}`

type Open = { kind: string; last: Delta; stream: StreamRedactor }

export type StreamMask = ReturnType<typeof createStreamMask>

export const createStreamMask = () => {
  const open = new Map<string, Open>()

  const end = (source: string): AgentEvent[] => {
    const own = open.get(source)
    open.delete(source)
    const text = own?.stream.end() ?? ''
    return own && text !== '' ? [{ ...own.last, text }] : []
  }

  const pushDelta = (event: Delta): AgentEvent[] => {
    const source = sourceOf(event)
    const kind = kindOf(event)
    const former = open.get(source)
    const before = former && former.kind !== kind ? end(source) : []
    const own = open.get(source) ?? { kind, last: event, stream: new StreamRedactor() }
    own.last = event
    open.set(source, own)
    const text = own.stream.push(event.text)
    return text === '' ? before : [...before, { ...event, text }]
  }

  /** The source whose text ends with this event; null for none. */
  const sourceEndedBy = (event: AgentEvent): string | null => {
    switch (event.type) {
      case 'tool_complete':
        return `call ${event.callId}`
      case 'subagent':
        return `task ${event.owner.parent} ${event.owner.index}`
      case 'tool':
        return event.owner ? `task ${event.owner.parent} ${event.owner.index}` : ''
      case 'message':
        return ''
      case 'retry':
        // Withdrawn text, but it counts when nothing follows.
        return event.owner ? `task ${event.owner.parent} ${event.owner.index}` : ''
      default:
        return null
    }
  }

  return {
    /** Events that can be recorded and sent now, in order. */
    push(event: AgentEvent): AgentEvent[] {
      if (event.type === 'token' || event.type === 'reasoning' || event.type === 'tool_output')
        return pushDelta(event)
      const source = sourceEndedBy(event)
      return source === null ? [event] : [...end(source), event]
    },
    /** Everything that is still buffered, at the end of the turn. */
    flush: (): AgentEvent[] => [...open.keys()].flatMap(end),
  }
}
