/** What a program sees of a turn: its text, and at the end the calls of the program's own functions and the usage. */
import { isJsonObject, parseArguments } from '../agent/tool-calls.ts'
import { asArray } from '../base/json.ts'
import type { TurnEvent } from '../schema/event.ts'
import type { Message, ToolCall } from '../schema/message.ts'
import { contentText } from '../sessions/entries.ts'
import type { EventLog } from '../turns/event-log.ts'
import type { ApiEvent } from './api-request.ts'

/** The text between two messages of one turn, which a program sees as one. */
const BETWEEN = '\n\n'

/** Collects the text of a turn. Text that was sent cannot be taken back, so a repeated message is held until it is complete. */
class TurnText {
  #messageId = ''
  #sentText = ''
  #isHeld = false
  #isFirst = true
  whole = ''

  /** These return what may be sent now. */
  token(id: string, text: string): string {
    this.#begin(id)
    return this.#isHeld ? '' : this.#send(text)
  }

  message({ id, content }: Message): string {
    this.#begin(id)
    if (!this.#isHeld || typeof content !== 'string') return ''
    this.#isHeld = false
    const isSame = content.startsWith(this.#sentText)
    return this.#send(isSame ? content.slice(this.#sentText.length) : BETWEEN + content)
  }

  retry(id: string): void {
    this.#begin(id)
    this.#isHeld = this.#sentText !== ''
  }

  #begin(id: string): void {
    if (this.#messageId === id) return
    this.#messageId = id
    this.#sentText = ''
    this.#isHeld = false
  }

  #send(text: string): string {
    if (text === '') return ''
    const before = this.#sentText === '' && !this.#isFirst ? BETWEEN : ''
    this.#sentText += text
    this.#isFirst = false
    this.whole += before + text
    return before + text
  }
}

type TurnFailure = Extract<TurnEvent, { type: 'apperror' | 'cancel' }>

const toFailed = ({ type, data }: TurnFailure): ApiEvent => ({
  type: 'failed',
  failure:
    type === 'cancel'
      ? { type: 'cancelled', message: 'The turn was stopped.' }
      : { type: data.type, message: [data.message, data.hint].filter(Boolean).join(' ') },
})

/** The events of a turn from its beginning. Ends with `done` or `failed`, unless `signal` aborts first. */
export async function* followTurn(log: EventLog, signal: AbortSignal): AsyncGenerator<ApiEvent> {
  const text = new TurnText()
  /** Calls without a result. At the end these are the program's. */
  const open = new Map<string, ToolCall>()
  let refusal = ''
  let lastText = ''
  let isCut = false
  for await (const logged of log.read(0, signal)) {
    const event = logged as TurnEvent
    let piece = ''
    if (event.type === 'token') piece = text.token(event.data.message_id, event.data.text)
    else if (event.type === 'retry') {
      text.retry(event.data.message_id)
      isCut = false
    } else if (event.type === 'warning') isCut ||= event.data.type === 'cut'
    else if (event.type === 'message') {
      const { message } = event.data
      if (message.role === 'assistant') {
        piece = text.message(message)
        refusal = message.refusal ?? ''
        lastText = contentText(message.content)
        for (const call of asArray(message.tool_calls) as ToolCall[]) open.set(call.id, call)
      } else if (message.tool_call_id !== undefined) {
        // The turn continues after a message that was cut.
        isCut = false
        open.delete(message.tool_call_id)
      }
    } else if (event.type === 'apperror' || event.type === 'cancel') {
      yield toFailed(event)
      return
    } else if (event.type === 'done') {
      const calls = [...open.values()].map(({ id, function: { name, arguments: args } }) => ({
        id,
        name,
        arguments: isJsonObject(args) ? args : JSON.stringify(parseArguments(args) ?? {}),
      }))
      const { usage } = event.data
      const texts = { text: text.whole, lastText, refusal }
      const result = { sessionId: log.session_id, ...texts, isCut, calls, usage }
      yield { type: 'done', result }
      return
    }
    if (piece !== '') yield { type: 'text', text: piece }
  }
  if (signal.aborted) return
  yield { type: 'failed', failure: { type: 'interrupted', message: 'The turn was interrupted.' } }
}
