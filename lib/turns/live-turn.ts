/** In-memory state of a running turn beyond the journal: partial text, running tools, subagents. Bounded in size. */
import { type Clock, toSeconds } from '../base/clock.ts'
import type { AgentEvent, RunMessage } from '../agent/types.ts'
import type { LiveTurn } from '../schema/session.ts'
import { createLiveSubagents } from './live-subagents.ts'
import { shortArgs } from './short-args.ts'
import { toPendingRetry } from './to-stream-event.ts'

const MAX_OUTPUT_CHARS = 8_000

export type LiveState = ReturnType<typeof createLiveState>

/** Follows the engine's events. */
export const createLiveState = (clock: Pick<Clock, 'now'>) => {
  let messageId: string | null = null
  let text = ''
  let reasoning = ''
  /** The partial text of a model call that is being retried, until the retry produces text. */
  let withdrawn = { text: '', reasoning: '' }
  /** The pending retry. */
  let retry: LiveTurn['retry']
  const tools = new Map<string, LiveTurn['tools'][number]>()
  const subagents = createLiveSubagents(clock)
  /** Calls of recorded assistant messages that have no recorded result. */
  const unanswered = new Map<string, string>()

  const startMessage = (id: string): void => {
    if (messageId === id) return
    messageId = id
    text = ''
    reasoning = ''
    withdrawn = { text: '', reasoning: '' }
  }

  const finishMessage = (message: RunMessage): void => {
    retry = undefined
    if (message.role === 'tool') {
      unanswered.delete(message.tool_call_id ?? '')
      subagents.forget(message.tool_call_id ?? '')
      return
    }
    for (const call of message.tool_calls ?? []) unanswered.set(call.id, call.function.name)
    messageId = null
    text = ''
    reasoning = ''
  }

  return {
    apply(event: AgentEvent): void {
      if ('owner' in event && event.owner) {
        subagents.apply(event)
        return
      }
      switch (event.type) {
        case 'token':
          startMessage(event.messageId)
          retry = undefined
          text += event.text
          break
        case 'reasoning':
          startMessage(event.messageId)
          retry = undefined
          reasoning += event.text
          break
        case 'retry':
          startMessage(event.messageId)
          if (text !== '') withdrawn = { text, reasoning }
          text = ''
          reasoning = ''
          retry = toPendingRetry(event, clock.now())
          break
        case 'message':
          finishMessage(event.message)
          break
        case 'tool':
          tools.set(event.callId, {
            tid: event.callId,
            name: event.name,
            preview: event.preview,
            args: shortArgs(event.args),
            started_at: toSeconds(clock.now()),
            output: '',
          })
          break
        case 'tool_output': {
          const tool = tools.get(event.callId)
          if (tool) tool.output = (tool.output + event.text).slice(-MAX_OUTPUT_CHARS)
          break
        }
        case 'tool_complete':
          tools.delete(event.callId)
          break
        case 'warning':
          // Another key or model is called instead of waiting.
          if (event.kind === 'rotated' || event.kind === 'fallback') retry = undefined
          break
        case 'subagent':
        case 'sent':
        case 'compressing':
        case 'compressed':
          break
      }
    },
    /** The assistant message that is being streamed. */
    partial: () => ({ messageId, text, reasoning }),
    /** The same for a turn that ends now: text that a retry withdrew counts again. */
    unfinished: () =>
      text === '' && (withdrawn.text !== '' || reasoning === '')
        ? { messageId, ...withdrawn }
        : { messageId, text, reasoning },
    /** Undefined unless a failed call is about to be retried. */
    retry: () => retry,
    tools: () => [...tools.values()],
    subagents: subagents.all,
    /** What the subagents of a call did so far, in the form of its result. */
    resultsOf: subagents.resultsOf,
    /** id → tool name of the calls without a result. */
    unanswered: (): ReadonlyMap<string, string> => unanswered,
    outputOf: (callId: string): string => tools.get(callId)?.output ?? '',
  }
}
