/** Observes turns from outside of the engine: model calls through the providers, tool calls through the events. */
import type { AgentEvent } from '../../agent/events.ts'
import type { ProviderDelta, ProviderRequest, Providers } from '../../agent/provider-types.ts'
import type { Agent, AgentRequest, Outcome } from '../../agent/types.ts'

export type ObservedCall = {
  /** Sent with the request. */
  traceparent?: string
  delta(delta: ProviderDelta): void
  /** Called once. `error` is what the provider threw; undefined when it finished or its reader stopped. */
  ended(error?: unknown): void
}

export type ObservedTurn = {
  call(request: ProviderRequest): ObservedCall
  event(event: Extract<AgentEvent, { type: 'tool' | 'tool_complete' }>): void
  /** Called once. */
  ended(outcome: Outcome): void
}

/** Must not throw: it runs inside turns. */
export type TurnObserver = (request: AgentRequest) => ObservedTurn

const observedProvider = (
  provider: NonNullable<Providers[keyof Providers]>,
  turn: ObservedTurn,
): typeof provider =>
  async function* (request) {
    const call = turn.call(request)
    const { traceparent } = call
    const sent = traceparent === undefined ? request : { ...request, traceparent }
    let failure: unknown
    try {
      for await (const delta of provider(sent)) {
        call.delta(delta)
        yield delta
      }
    } catch (error) {
      failure = error
      throw error
    } finally {
      call.ended(failure)
    }
  }

const observedProviders = (providers: Providers, turn: ObservedTurn): Providers =>
  Object.fromEntries(
    Object.entries(providers).map(([mode, provider]) => [mode, observedProvider(provider, turn)]),
  )

export const observeAgent =
  (agent: Agent, observe: TurnObserver): Agent =>
  async (request, emit) => {
    const turn = observe(request)
    const outcome = await agent(
      { ...request, providers: observedProviders(request.providers, turn) },
      event => {
        if (event.type === 'tool' || event.type === 'tool_complete') turn.event(event)
        emit(event)
      },
    )
    turn.ended(outcome)
    return outcome
  }
