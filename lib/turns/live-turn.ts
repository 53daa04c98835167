/** What a running turn has produced beyond the journal, kept small enough to stay in memory and whole enough to draw. */
import type { AgentEvent, RunMessage } from '../agent/types.ts'
import type { LiveTurn } from '../schema/session.ts'
import { createLiveSubagents } from './live-subagents.ts'
import { shortArgs } from './short-args.ts'

const OUTPUT_TAIL = 8_000

export type LiveState = ReturnType<typeof createLiveState>

/** Follows the engine's events. `now` is seconds since 1970. */
export const createLiveState = (now: () => number) => {
  let messageId: string | null = null
  let text = ''
  let reasoning = ''
  /** What was last said before its call was made again, until something else is said. */
  let withdrawn = { text: '', reasoning: '' }
  /** The call that is waited for. */
  let retry: LiveTurn['retry']
  const tools = new Map<string, LiveTurn['tools'][number]>()
  const subagents = createLiveSubagents(now)
  /** Calls of recorded assistant messages that have no recorded result. */
  const unanswered = new Map<string, string>()

  const begin = (id: string): void => {
    if (messageId === id) return
    messageId = id
    text = ''
    reasoning = ''
    withdrawn = { text: '', reasoning: '' }
  }

  const finish = (message: RunMessage): void => {
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
          begin(event.messageId)
          retry = undefined
          text += event.text
          break
        case 'reasoning':
          begin(event.messageId)
          retry = undefined
          reasoning += event.text
          break
        case 'retry':
          begin(event.messageId)
          if (text !== '') withdrawn = { text, reasoning }
          text = ''
          reasoning = ''
          retry = {
            attempt: event.attempt,
            attempts: event.attempts,
            until: now() + event.delayMs / 1_000,
            message: event.message,
          }
          break
        case 'message':
          finish(event.message)
          break
        case 'tool':
          tools.set(event.callId, {
            tid: event.callId,
            name: event.name,
            preview: event.preview,
            args: shortArgs(event.args),
            started_at: now(),
            output: '',
          })
          break
        case 'tool_output': {
          const tool = tools.get(event.callId)
          if (tool) tool.output = (tool.output + event.text).slice(-OUTPUT_TAIL)
          break
        }
        case 'tool_complete':
          tools.delete(event.callId)
          break
        case 'subagent':
        case 'warning':
        case 'compressing':
        case 'compressed':
          break
      }
    },
    /** The assistant message that was being spoken, if anything of it is there. */
    partial: () => ({ messageId, text, reasoning }),
    /** The same for a turn that ends here: what was being said again counts as it was said before. */
    unfinished: () =>
      text === '' && (withdrawn.text !== '' || reasoning === '')
        ? { messageId, ...withdrawn }
        : { messageId, text, reasoning },
    /** Undefined unless a failed call is about to be made again. */
    retry: () => retry,
    tools: () => [...tools.values()],
    subagents: subagents.all,
    /** What the subagents of a call did so far, as its result would have said it. */
    resultsOf: subagents.resultsOf,
    /** id → tool name of the calls whose result will never come when the turn ends now. */
    unanswered: (): ReadonlyMap<string, string> => unanswered,
    outputOf: (callId: string): string => tools.get(callId)?.output ?? '',
  }
}
