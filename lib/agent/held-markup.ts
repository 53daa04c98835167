/** Holds back streamed text that may be a tool call, until its message says what it was: nobody should see the markup. */
import { isQuoted } from './inline-tool-calls.ts'
import { beginsCall, mayBegin } from './call-dialects.ts'
import type { AgentEvent, Emit, RunMessage } from './types.ts'

type Kind = 'token' | 'reasoning'
type Stream = { messageId: string; sent: string; held: string; isCall: boolean }

/** `flush` shows what is held when no message will come. */
export const holdMarkup = (emit: Emit): { emit: Emit; flush: () => void } => {
  const streams: Record<Kind, Stream | null> = { token: null, reasoning: null }

  const send = (type: Kind, stream: Stream, chars: number): void => {
    const text = stream.held.slice(0, chars)
    stream.held = stream.held.slice(chars)
    stream.sent += text
    if (text !== '') emit({ type, messageId: stream.messageId, text })
  }

  const push = (type: Kind, messageId: string, text: string): void => {
    const stream =
      streams[type]?.messageId === messageId
        ? streams[type]
        : { messageId, sent: '', held: '', isCall: false }
    streams[type] = stream
    stream.held += text
    while (!stream.isCall && stream.held !== '') {
      const at = mayBegin(stream.held, stream.sent.trim() === '')
      send(type, stream, at)
      if (stream.held === '') return
      const verdict = beginsCall(stream.held, stream.sent.trim() === '')
      if (verdict === 'maybe') return
      stream.isCall = verdict === 'yes' && !isQuoted(stream.sent + stream.held, stream.sent.length)
      // Not a call: one character further, another may begin.
      if (!stream.isCall) send(type, stream, 1)
    }
  }

  const finish = (type: Kind, messageId: string, final: string): void => {
    const stream = streams[type]
    if (stream?.messageId !== messageId) return
    if (final.startsWith(stream.sent) && stream.held.startsWith(final.slice(stream.sent.length)))
      send(type, stream, final.length - stream.sent.length)
    streams[type] = null
  }

  const finishMessage = ({ id, content, reasoning = '' }: RunMessage): void => {
    finish('reasoning', id, reasoning)
    finish('token', id, typeof content === 'string' ? content : '')
  }

  return {
    emit(event: AgentEvent) {
      const isOwn = !('owner' in event) || event.owner === undefined
      if ((event.type === 'token' || event.type === 'reasoning') && isOwn) {
        push(event.type, event.messageId, event.text)
        return
      }
      if (event.type === 'retry' && isOwn) streams.token = streams.reasoning = null
      if (event.type === 'message') finishMessage(event.message)
      emit(event)
    },
    flush() {
      for (const type of ['reasoning', 'token'] as const) {
        const stream = streams[type]
        if (stream) send(type, stream, stream.held.length)
        streams[type] = null
      }
    },
  }
}
