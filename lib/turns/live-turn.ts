/** In-memory state of a running turn beyond the journal: partial text, running tools, subagents. Bounded in size. */
import { type Clock, toSeconds } from '../base/clock.ts'
import type { AgentEvent, RunMessage } from '../agent/types.ts'
import type { LiveTurn } from '../schema/session.ts'
import { createLiveSubagents } from './live-subagents.ts'
import { shortArgs, toPendingRetry } from './to-stream-event.ts'

const MAX_OUTPUT_CHARS = 8_000

const NOTHING = { text: '', reasoning: '' }

export type LiveState = ReturnType<typeof createLiveState>

/** Follows the engine's events. */
export const createLiveState = (clock: Pick<Clock, 'now'>) => {
  let messageId: string | null = null
  let text = ''
  let reasoning = ''
  /** The partial text of a model call that was cut, until a message is recorded: of the same call's retry, or after a restart. */
  let withdrawn = NOTHING
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
  }

  const finishMessage = (message: RunMessage): void => {
    retry = undefined
    // A steering message does not end what the model writes.
    if (message.role === 'user') return
    if (message.role === 'tool') {
      const id = message.tool_call_id ?? ''
      unanswered.delete(id)
      tools.delete(id)
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
          withdrawn = unfinished()
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
    unfinished: () => ({ messageId, ...unfinished() }),
    /** The process that ran the tools and subagents has ended. */
    stopTools(): void {
      tools.clear()
      subagents.clear()
    },
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
