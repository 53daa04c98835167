/** Writes the assistant messages of a turn: streams text and reasoning, and masks secrets in tool calls and results. */
import { setImmediate as soon } from 'node:timers'
import type { AgentRequest, Emit, RunMessage } from '../types.ts'
import type { TranscriptTurn } from './transcript.ts'

/** Limit of one turn's text and reasoning; beyond it the turn is stopped. */
const MAX_TEXT_CHARS = 4 * 1024 * 1024

export class MessageWriter {
  readonly #nextMessageId: () => string
  readonly #secrets: AgentRequest['secrets']
  readonly #emit: Emit
  readonly #served: { provider: string; model: string }
  readonly #onFlood: () => void
  /** Text not yet emitted; chunks that arrive together become one event. */
  #pending = { text: '', reasoning: '' }
  #timer: NodeJS.Immediate | undefined
  #messageId: string | null = null
  #text = ''
  #reasoning = ''
  #isClosed = false
  /** The last recorded text. */
  last = ''
  /** Assistant messages. */
  steps = 0
  /** Characters received. */
  streamedChars = 0

  /** `onFlood` is called when the text exceeds its limit. */
  constructor({ nextMessageId, secrets, emit, served }: TranscriptTurn, onFlood: () => void) {
    this.#nextMessageId = nextMessageId
    this.#secrets = secrets
    this.#emit = emit
    this.#served = served
    this.#onFlood = onFlood
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Later text is ignored. */
  close(): void {
    this.#isClosed = true
  }

  /** Streams text of the open message, which it starts if there is none. */
  add(to: 'text' | 'reasoning', words: string): void {
    if (words === '' || this.#isClosed) return
    this.streamedChars += words.length
    if (this.streamedChars > MAX_TEXT_CHARS) {
      this.#onFlood()
      return
    }
    // A thought after text starts the next message, to keep the order.
    if (to === 'reasoning' && this.#text !== '') this.record()
    this.#messageId ??= this.#nextMessageId()
    if (to === 'text') this.#text += words
    else this.#reasoning += words
    if (to === 'reasoning' && this.#pending.text !== '') this.flush()
    this.#pending[to] += words
    this.#timer ??= soon(() => this.flush())
  }

  flush(): void {
    clearImmediate(this.#timer)
    this.#timer = undefined
    const { text, reasoning } = this.#pending
    this.#pending = { text: '', reasoning: '' }
    const messageId = this.#messageId
    if (this.#isClosed || messageId === null) return
    if (reasoning !== '') this.#emit({ type: 'reasoning', messageId, text: reasoning })
    if (text !== '') this.#emit({ type: 'token', messageId, text })
  }

  /** Emits the assistant message so far, with its tool call. */
  record(calls: RunMessage['tool_calls'] = []): void {
    this.flush()
    if (this.#messageId === null && calls.length === 0) return
    const [text, reasoning] = [this.#text, this.#reasoning]
    const id = this.#messageId ?? this.#nextMessageId()
    this.steps++
    if (text.trim() !== '') this.last = text
    this.#messageId = null
    this.#text = ''
    this.#reasoning = ''
    this.message(
      {
        role: 'assistant',
        content: text,
        ...this.#served,
        ...(reasoning !== '' && { reasoning }),
        ...(calls.length > 0 && { tool_calls: calls }),
      },
      id,
    )
  }

  /** Emits a message that is complete. */
  message(rest: Omit<RunMessage, 'id'>, id = this.#nextMessageId()): void {
    this.#emit({ type: 'message', message: { id, ...maskToolText(rest, this.#secrets) } })
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
