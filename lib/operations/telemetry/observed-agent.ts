/** Observes turns from outside of the engine: their model calls, and their tool calls through the events. */
import type { AgentEvent } from '../../agent/events.ts'
import type { ObservedCall, ProviderRequest } from '../../agent/provider-types.ts'
import type { Agent, AgentRequest, Outcome } from '../../agent/types.ts'

export type ObservedTurn = {
  call(request: ProviderRequest): ObservedCall
  event(event: Extract<AgentEvent, { type: 'tool' | 'tool_complete' }>): void
  /** Called once. */
  ended(outcome: Outcome): void
}

/** Must not throw: it runs inside turns. */
export type TurnObserver = (request: AgentRequest) => ObservedTurn

const all = (calls: readonly ObservedCall[]): ObservedCall => ({
  traceparent: calls.find(({ traceparent }) => traceparent !== undefined)?.traceparent,
  delta: delta => calls.forEach(call => void call.delta(delta)),
  ended: error => calls.forEach(call => void call.ended(error)),
})

export const observeAgent = (agent: Agent, observers: readonly TurnObserver[]): Agent =>
  observers.length === 0
    ? agent
    : async (request, emit) => {
        const turns = observers.map(observe => observe(request))
        const observe = (call: ProviderRequest) => all(turns.map(turn => turn.call(call)))
        const outcome = await agent({ ...request, observe }, event => {
          if (event.type === 'tool' || event.type === 'tool_complete')
            for (const turn of turns) turn.event(event)
          emit(event)
        })
        for (const turn of turns) turn.ended(outcome)
        return outcome
      }
