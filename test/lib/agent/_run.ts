/** Runs the loop with a scripted provider and records requests and events, for tests. */
import { z } from 'zod'
import type { CompressionSettings } from '../../../lib/agent/compress-plan.ts'
import { runEngine } from '../../../lib/agent/agent.ts'
import type { Wait } from '../../../lib/agent/retry.ts'
import type {
  AgentEvent,
  AgentRequest,
  ModelEndpoint,
  Outcome,
  Provider,
  ProviderDelta,
  ProviderRequest,
  RunMessage,
  Tool,
} from '../../../lib/agent/types.ts'
import { createTestClock } from '../../_clock.ts'

/** Deltas of one call; an error is thrown at its position, `hang` waits for the signal. */
export type Said = (ProviderDelta | Error | 'hang')[]

export const text = (said: string): ProviderDelta => ({ type: 'text', text: said })
export const thought = (said: string): ProviderDelta => ({ type: 'reasoning', text: said })
export const finish = (
  reason: Extract<ProviderDelta, { type: 'finish' }>['reason'],
): ProviderDelta => ({ type: 'finish', reason })
export const use = (name: string, args: unknown, index = 0, id = `c${index}`): ProviderDelta => ({
  type: 'tool_call',
  index,
  id,
  name,
  arguments: typeof args === 'string' ? args : JSON.stringify(args),
})

/** Plays one script per call; `received` holds the request of each call. */
export const scripted = (...scripts: Said[]) => {
  const received: ProviderRequest[] = []
  const left = [...scripts]
  const provider: Provider = async function* (request) {
    received.push(structuredClone({ ...request, signal: null }) as unknown as ProviderRequest)
    const script = left.shift()
    if (!script) throw new Error('The script has ended.')
    for (const one of script) {
      if (one instanceof Error) throw one
      if (one === 'hang')
        await new Promise((_, reject) => {
          request.signal.addEventListener('abort', () => reject(request.signal.reason))
        })
      else yield one
    }
  }
  return { provider, received }
}

export const endpoint = (
  contextLength = 100_000,
  more: Partial<ModelEndpoint> = {},
): ModelEndpoint => ({
  provider: 'custom',
  model: 'm',
  apiMode: 'chat_completions',
  baseUrl: '',
  apiKey: null,
  contextLength,
  ...more,
})

export const toolOf = (
  name: string,
  run: Tool['run'] = () => ({ content: '' }),
  more: Partial<Tool> = {},
): Tool => ({
  name,
  summary: `${name}.`,
  input: z.object({}),
  kind: 'execute',
  preview: () => name,
  run,
  ...more,
})

export const COMPRESSION: CompressionSettings = {
  enabled: true,
  threshold: 0.5,
  thresholdTokens: 0,
  modelThresholds: {},
  targetRatio: 0.2,
  protectFirst: 3,
  protectLast: 20,
  maxAttempts: 3,
}

export type Ran = {
  outcome: Outcome
  events: AgentEvent[]
  messages: RunMessage[]
  waits: number[]
}

/** Runs with defaults. Delays are recorded, not waited for; `react` receives each event as it is emitted. */
export const run = async (
  provider: Provider,
  request: Partial<AgentRequest> = {},
  react: (event: AgentEvent) => void = () => {},
  wait: Wait = async (_, signal) => signal.throwIfAborted(),
): Promise<Ran> => {
  const events: AgentEvent[] = []
  const waits: number[] = []
  let next = 0
  const outcome = await runEngine(
    {
      endpoint: endpoint(),
      system: '',
      history: [{ role: 'user', content: 'hello' }],
      tools: [],
      workspace: '/',
      env: {},
      forbidden: [],
      outside: 'dangerous',
      maxSteps: 10,
      signal: new AbortController().signal,
      nextMessageId: () => `m${++next}`,
      approve: async () => 'deny',
      clarify: async () => null,
      providers: { chat_completions: provider, demo: provider },
      clock: createTestClock(),
      ...request,
    },
    event => {
      events.push(event)
      react(event)
    },
    {
      random: () => 1,
      wait: (ms, signal, end) => {
        waits.push(ms)
        return wait(ms, signal, end)
      },
    },
  )
  const messages = events.flatMap(event => (event.type === 'message' ? [event.message] : []))
  return { outcome, events, messages, waits }
}

/** The types of all events, in order. */
export const shape = (events: AgentEvent[]) => events.map(event => event.type).join(' ')
