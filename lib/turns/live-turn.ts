/**
 * The state of a running turn beyond the journal: partial text, running tools, subagents. A fold of its events, as they are sent and
 * as the live log has them, so that a turn that continues after a kill has the state in which it was. Bounded in size.
 */
import { type Clock, toSeconds } from '../base/clock.ts'
import { addWriting, type LiveWriting } from '../base/live-writing.ts'
import type { TurnEvent } from '../schema/event.ts'
import type { Message } from '../schema/message.ts'
import type { LiveTurn } from '../schema/session.ts'
import { emptyUsage, type Usage } from '../schema/usage.ts'
import type { LoggedEvent } from './event-log.ts'
import { LiveSubagents } from './live-subagents.ts'

const MAX_OUTPUT_CHARS = 8_000

const NOTHING = { text: '', reasoning: '' }

export class LiveState {
  readonly #clock: Clock
  readonly #subagents: LiveSubagents
  readonly #tools = new Map<string, LiveTurn['tools'][number]>()
  /** Calls that have ended; what they have shown is kept until their result is recorded. */
  readonly #ended = new Set<string>()
  /** Calls of recorded assistant messages that have no recorded result. */
  readonly #unanswered = new Map<string, string>()
  #messageId: string | null = null
  #text = ''
  #reasoning = ''
  #writing: LiveWriting | undefined
  /** The partial text of a model call that was cut, until a message is recorded: of the same call's retry, or after a restart. */
  #withdrawn = NOTHING
  /** The pending retry. */
  #retry: LiveTurn['retry']

  constructor(clock: Clock) {
    this.#clock = clock
    this.#subagents = new LiveSubagents(clock)
  }

  apply({ type, data }: TurnEvent): void {
    switch (type) {
      case 'token':
      case 'reasoning':
        this.#startMessage(data.message_id)
        this.#retry = undefined
        if (type === 'token') this.#text += data.text
        else this.#reasoning += data.text
        break
      case 'retry': {
        const { message_id, attempts = 0, until = 0, ...rest } = data
        this.#startMessage(message_id)
        const withdrawn = this.#unfinishedText()
        this.#clearText()
        this.#withdrawn = withdrawn
        this.#retry = { ...rest, attempts, until }
        break
      }
      case 'message':
        this.#finishMessage(data.message)
        break
      case 'tool': {
        const { tid, name, preview, args, parent_tid: parent } = data
        const started_at = toSeconds(this.#clock.now())
        if (parent !== undefined) this.#subagents.call(data)
        else this.#tools.set(tid, { tid, name, preview, args, started_at, output: '' })
        break
      }
      case 'tool_writing':
        this.#retry = undefined
        this.#writing = addWriting(this.#writing, data)
        break
      case 'tool_output': {
        const tool = this.#tools.get(data.tid)
        if (data.parent_tid !== undefined) this.#subagents.output(data)
        else if (tool) tool.output = (tool.output + data.text).slice(-MAX_OUTPUT_CHARS)
        break
      }
      case 'tool_complete':
        if (data.parent_tid === undefined) this.#ended.add(data.tid)
        else this.#subagents.complete(data.tid, data.duration, data.is_error)
        break
      case 'subagent':
        this.#subagents.stream(data)
        break
      case 'warning':
        // Another key or model is called instead of waiting.
        if (data.type === 'rotated' || data.type === 'fallback') this.#retry = undefined
        break
      // The others change nothing that is shown of a running turn, or end it.
      default:
        break
    }
  }

  /** The assistant message that is being streamed. */
  partial() {
    return { messageId: this.#messageId, text: this.#text, reasoning: this.#reasoning }
  }

  /** The same for a turn that ends now: text that a retry withdrew counts again. */
  unfinished() {
    return { messageId: this.#messageId, ...this.#unfinishedText() }
  }

  /** The process that ran the tools and subagents has ended. */
  stopTools(): void {
    this.#tools.clear()
    this.#ended.clear()
    this.#subagents.clear()
  }

  /** Undefined unless a failed call is about to be retried. */
  retry() {
    return this.#retry
  }

  /** Undefined unless the model writes the call of a file edit. */
  writing() {
    return this.#writing
  }

  tools() {
    return [...this.#tools.values()].filter(({ tid }) => !this.#ended.has(tid))
  }

  subagents() {
    return this.#subagents.all()
  }

  /** What the subagents of a call did so far, in the form of its result. */
  resultsOf(callId: string) {
    return this.#subagents.resultsOf(callId)
  }

  /** id → tool name of the calls without a result. */
  unanswered(): ReadonlyMap<string, string> {
    return this.#unanswered
  }

  outputOf(callId: string): string {
    return this.#tools.get(callId)?.output ?? ''
  }

  #startMessage(id: string): void {
    if (this.#messageId === id) return
    this.#messageId = id
    this.#clearText()
  }

  #finishMessage(message: Message): void {
    this.#retry = undefined
    // A steering message does not end what the model writes.
    if (message.role === 'user') return
    if (message.role === 'tool') {
      const id = message.tool_call_id ?? ''
      this.#unanswered.delete(id)
      this.#tools.delete(id)
      this.#ended.delete(id)
      this.#subagents.forget(id)
      return
    }
    for (const call of message.tool_calls ?? []) this.#unanswered.set(call.id, call.function.name)
    this.#messageId = null
    this.#clearText()
    this.#withdrawn = NOTHING
  }

  #clearText(): void {
    this.#text = ''
    this.#reasoning = ''
    this.#writing = undefined
  }

  /** The cut call's text counts until another one has produced text. */
  #unfinishedText() {
    const isOfCut = this.#text === '' && (this.#withdrawn.text !== '' || this.#reasoning === '')
    return isOfCut ? this.#withdrawn : { text: this.#text, reasoning: this.#reasoning }
  }
}

const loggedId = ({ type, data }: LoggedEvent): string | undefined =>
  type === 'message' ? (data as { message: Message }).message.id : undefined

/**
 * The live state when the process died: the turn's recorded messages and its events, in the order in which they were written. The
 * journal decides which messages there are: one reaches it before its event reaches the log.
 */
export const rebuild = (events: LoggedEvent[], recorded: Message[], clock: Clock): LiveState => {
  const live = new LiveState(clock)
  const logged = new Set(events.flatMap(event => loggedId(event) ?? []))
  const last = recorded.findLastIndex(({ id }) => logged.has(id))
  const apply = (messages: readonly Message[]): void => {
    for (const message of messages) live.apply({ type: 'message', data: { message } })
  }
  apply(recorded.slice(0, last + 1).filter(({ id }) => !logged.has(id)))
  for (const event of events) {
    const id = loggedId(event)
    if (id === undefined) live.apply(event as TurnEvent)
    else apply(recorded.filter(message => message.id === id))
  }
  apply(recorded.slice(last + 1))
  return live
}

/** The usage up to the last model call that ended. */
export const usageOf = (events: LoggedEvent[]): Usage => {
  const last = events.findLast(({ type }) => type === 'usage')
  return last ? (last.data as { usage: Usage }).usage : emptyUsage
}
