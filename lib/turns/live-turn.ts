/**
 * The state of a running turn beyond the journal: partial text, running tools, subagents. A fold of its events, as they are sent and
 * as the live log has them, so that a turn that continues after a kill has the state in which it was. Bounded in size.
 */
import { type Clock, toSeconds } from '../base/clock.ts'
import type { TurnEvent } from '../schema/event.ts'
import type { Message } from '../schema/message.ts'
import type { LiveTurn } from '../schema/session.ts'
import { emptyUsage, type Usage } from '../schema/usage.ts'
import type { LoggedEvent } from './event-log.ts'
import { createLiveSubagents } from './live-subagents.ts'

const MAX_OUTPUT_CHARS = 8_000

const NOTHING = { text: '', reasoning: '' }

export type LiveState = ReturnType<typeof createLiveState>

export const createLiveState = (clock: Pick<Clock, 'now'>) => {
  let messageId: string | null = null
  let text = ''
  let reasoning = ''
  /** The partial text of a model call that was cut, until a message is recorded: of the same call's retry, or after a restart. */
  let withdrawn = NOTHING
  /** The pending retry. */
  let retry: LiveTurn['retry']
  const tools = new Map<string, LiveTurn['tools'][number]>()
  /** Calls that have ended; what they have shown is kept until their result is recorded. */
  const ended = new Set<string>()
  const subagents = createLiveSubagents(clock)
  /** Calls of recorded assistant messages that have no recorded result. */
  const unanswered = new Map<string, string>()

  const startMessage = (id: string): void => {
    if (messageId === id) return
    messageId = id
    text = ''
    reasoning = ''
  }

  const finishMessage = (message: Message): void => {
    retry = undefined
    // A steering message does not end what the model writes.
    if (message.role === 'user') return
    if (message.role === 'tool') {
      const id = message.tool_call_id ?? ''
      unanswered.delete(id)
      tools.delete(id)
      ended.delete(id)
      subagents.forget(id)
      return
    }
    for (const call of message.tool_calls ?? []) unanswered.set(call.id, call.function.name)
    messageId = null
    text = ''
    reasoning = ''
    withdrawn = NOTHING
  }

  /** The cut call's text counts until another one has produced text. */
  const unfinished = () =>
    text === '' && (withdrawn.text !== '' || reasoning === '') ? withdrawn : { text, reasoning }

  return {
    apply({ type, data }: TurnEvent): void {
      switch (type) {
        case 'token':
          startMessage(data.message_id)
          retry = undefined
          text += data.text
          break
        case 'reasoning':
          startMessage(data.message_id)
          retry = undefined
          reasoning += data.text
          break
        case 'retry': {
          const { message_id, attempts = 0, until = 0, ...rest } = data
          startMessage(message_id)
          withdrawn = unfinished()
          text = ''
          reasoning = ''
          retry = { ...rest, attempts, until }
          break
        }
        case 'message':
          finishMessage(data.message)
          break
        case 'tool': {
          const { tid, name, preview, args, parent_tid: parent } = data
          const started_at = toSeconds(clock.now())
          if (parent !== undefined) subagents.call(data)
          else tools.set(tid, { tid, name, preview, args, started_at, output: '' })
          break
        }
        case 'tool_output': {
          const tool = tools.get(data.tid)
          if (data.parent_tid !== undefined) subagents.output(data)
          else if (tool) tool.output = (tool.output + data.text).slice(-MAX_OUTPUT_CHARS)
          break
        }
        case 'tool_complete':
          if (data.parent_tid === undefined) ended.add(data.tid)
          else subagents.complete(data.tid, data.duration, data.is_error)
          break
        case 'subagent':
          subagents.stream(data)
          break
        case 'warning':
          // Another key or model is called instead of waiting.
          if (data.type === 'rotated' || data.type === 'fallback') retry = undefined
          break
        // The others change nothing that is shown of a running turn, or end it.
        default:
          break
      }
    },
    /** The assistant message that is being streamed. */
    partial: () => ({ messageId, text, reasoning }),
    /** The same for a turn that ends now: text that a retry withdrew counts again. */
    unfinished: () => ({ messageId, ...unfinished() }),
    /** The process that ran the tools and subagents has ended. */
    stopTools(): void {
      tools.clear()
      ended.clear()
      subagents.clear()
    },
    /** Undefined unless a failed call is about to be retried. */
    retry: () => retry,
    tools: () => [...tools.values()].filter(({ tid }) => !ended.has(tid)),
    subagents: subagents.all,
    /** What the subagents of a call did so far, in the form of its result. */
    resultsOf: subagents.resultsOf,
    /** id → tool name of the calls without a result. */
    unanswered: (): ReadonlyMap<string, string> => unanswered,
    outputOf: (callId: string): string => tools.get(callId)?.output ?? '',
  }
}

const loggedId = ({ type, data }: LoggedEvent): string | undefined =>
  type === 'message' ? (data as { message: Message }).message.id : undefined

/**
 * The live state when the process died: the turn's recorded messages and its events, in the order in which they were written. The
 * journal decides which messages there are: one reaches it before its event reaches the log.
 */
export const rebuild = (
  events: LoggedEvent[],
  recorded: Message[],
  clock: Pick<Clock, 'now'>,
): LiveState => {
  const live = createLiveState(clock)
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
