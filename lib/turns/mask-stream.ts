/**
 * What is said and printed in pieces, on its way into the live log: a secret cut into two deltas is hidden like a whole one.
 * Keeps the order of what one speaker says, and gives back what it holds before anything that follows it.
 */
import type { AgentEvent } from '../agent/types.ts'
import { createStreamRedactor, type StreamRedactor } from '../redact/redact.ts'

type Delta = Extract<AgentEvent, { type: 'token' | 'reasoning' | 'tool_output' }>

/** Who speaks: the turn itself, one of its subagents, or a tool. */
const speakerOf = (event: Delta): string =>
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

  const end = (speaker: string): AgentEvent[] => {
    const own = open.get(speaker)
    open.delete(speaker)
    const text = own?.stream.end() ?? ''
    return own && text !== '' ? [{ ...own.last, text }] : []
  }

  const piece = (event: Delta): AgentEvent[] => {
    const speaker = speakerOf(event)
    const kind = kindOf(event)
    const former = open.get(speaker)
    const before = former && former.kind !== kind ? end(speaker) : []
    const own = open.get(speaker) ?? { kind, last: event, stream: createStreamRedactor() }
    own.last = event
    open.set(speaker, own)
    const text = own.stream.push(event.text)
    return text === '' ? before : [...before, { ...event, text }]
  }

  /** Whose words are over when this is said; null for nobody's. */
  const endedBy = (event: AgentEvent): string | null => {
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
        // Void from here on, but kept when nothing else is said any more.
        return event.owner ? `task ${event.owner.parent} ${event.owner.index}` : ''
      default:
        return null
    }
  }

  return {
    /** What may be recorded and sent now, in order. */
    push(event: AgentEvent): AgentEvent[] {
      if (event.type === 'token' || event.type === 'reasoning' || event.type === 'tool_output')
        return piece(event)
      const speaker = endedBy(event)
      return speaker === null ? [event] : [...end(speaker), event]
    },
    /** Nothing more is said. */
    flush: (): AgentEvent[] => [...open.keys()].flatMap(end),
  }
}
