/** Writes the assistant messages of a turn: streams text and reasoning, and masks secrets in tool calls and results. */
import { setImmediate as soon } from 'node:timers'
import type { AgentRequest, Emit, RunMessage } from '../types.ts'

/** Limit of one turn's text and reasoning; beyond it the turn is stopped. */
const MAX_TEXT_CHARS = 4 * 1024 * 1024

export type MessageWriterOptions = {
  request: Pick<AgentRequest, 'nextMessageId' | 'secrets'>
  emit: Emit
  served: { provider: string; model: string }
  /** Called when the text exceeds its limit. */
  onFlood: () => void
}

export type MessageWriter = ReturnType<typeof createMessageWriter>

export const createMessageWriter = ({ request, emit, served, onFlood }: MessageWriterOptions) => {
  /** Text not yet emitted; chunks that arrive together become one event. */
  let pending = { text: '', reasoning: '' }
  let timer: NodeJS.Immediate | undefined
  let messageId: string | null = null
  let text = ''
  let reasoning = ''
  let last = ''
  let streamedChars = 0
  let steps = 0
  let isClosed = false

  const flush = (): void => {
    clearImmediate(timer)
    timer = undefined
    const { text: words, reasoning: thought } = pending
    pending = { text: '', reasoning: '' }
    if (isClosed || messageId === null) return
    if (thought !== '') emit({ type: 'reasoning', messageId, text: thought })
    if (words !== '') emit({ type: 'token', messageId, text: words })
  }

  const add = (to: 'text' | 'reasoning', words: string): void => {
    if (words === '' || isClosed) return
    streamedChars += words.length
    if (streamedChars > MAX_TEXT_CHARS) {
      onFlood()
      return
    }
    // A thought after text starts the next message, to keep the order.
    if (to === 'reasoning' && text !== '') record([])
    messageId ??= request.nextMessageId()
    if (to === 'text') text += words
    else reasoning += words
    if (to === 'reasoning' && pending.text !== '') flush()
    pending[to] += words
    timer ??= soon(flush)
  }

  const message = (rest: Omit<RunMessage, 'id'>, id = request.nextMessageId()): void =>
    emit({ type: 'message', message: { id, ...maskToolText(rest, request.secrets) } })

  /** Emits the assistant message so far, with its tool call. */
  const record = (made: RunMessage['tool_calls'] = []): void => {
    flush()
    if (messageId === null && made.length === 0) return
    const id = messageId ?? request.nextMessageId()
    const whole = { role: 'assistant' as const, content: text, ...served }
    steps++
    if (text.trim() !== '') last = text
    const thought = reasoning === '' ? {} : { reasoning }
    messageId = null
    text = ''
    reasoning = ''
    message({ ...whole, ...thought, ...(made.length > 0 && { tool_calls: made }) }, id)
  }

  return {
    /** Streams text of the open message, which it starts if there is none. */
    add,
    record,
    /** Emits a message that is complete. */
    message,
    flush,
    /** Later text is ignored. */
    close(): void {
      isClosed = true
    },
    isClosed: () => isClosed,
    /** The last recorded text, the number of assistant messages, and the characters received. */
    summary: () => ({ last, steps, streamedChars }),
  }
}

/** Masks secrets in tool arguments and results, which come from files and not from the user. */
const maskToolText = <T extends Omit<RunMessage, 'id'>>(
  rest: T,
  secrets: AgentRequest['secrets'],
): T => {
  const mask = (text: string): string => secrets?.mask(text) ?? text
  return {
    ...rest,
    ...(rest.role === 'tool' &&
      typeof rest.content === 'string' && { content: mask(rest.content) }),
    ...(rest.tool_calls && {
      tool_calls: rest.tool_calls.map(call => ({
        ...call,
        function: { ...call.function, arguments: mask(call.function.arguments) },
      })),
    }),
  }
}
