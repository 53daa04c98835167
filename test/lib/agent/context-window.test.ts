/** Runs whose conversation exceeds the context window: requests, events, and what is preserved. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import type { Compression } from '../../../lib/agent/compress.ts'
import { ProviderFailure } from '../../../lib/agent/failure.ts'
import type { LoopMessage } from '../../../lib/agent/types.ts'
import {
  COMPRESSION,
  endpoint,
  toolOf,
  finish,
  run,
  type Said,
  scripted,
  text,
  use,
} from './_run.ts'

const test = suite('context window')

const read = toolOf(
  'read',
  (_, input) => ({ content: 'z'.repeat((input as { chars: number }).chars) }),
  { input: z.object({ chars: z.number() }), kind: 'read' },
)

const compression = (ask: Compression['callModel'], more = {}): Compression => {
  const rested = { untilMs: 0 }
  return {
    settings: { ...COMPRESSION, ...more },
    callModel: ask,
    window: 0,
    cooldown: {
      until: () => rested.untilMs,
      start(_, untilMs) {
        rested.untilMs = untilMs
      },
    },
  }
}
const asking = (answer = '## Goal\nnotes') => {
  const asked: string[] = []
  const ask: Compression['callModel'] = async (messages, { onUsage }) => {
    asked.push(messages.map(({ content }) => String(content)).join('\n'))
    onUsage({
      input_tokens: 50,
      output_tokens: 5,
      estimated_cost: 0.5,
      context_length: 0,
      threshold_tokens: 0,
      last_prompt_tokens: 0,
    })
    return answer
  }
  return { ask, asked }
}
const says = (message: string): Said => [text(message), finish('stop')]
const calls = (name: string, args: unknown, id: string): Said => [
  use(name, args, 0, id),
  finish('tool_calls'),
]
const words = (messages: readonly LoopMessage[]) => JSON.stringify(messages)

test("the provider's count takes precedence over the estimate", async () => {
  const usage = { type: 'usage' as const, inputTokens: 4_000, outputTokens: 1 }
  const { provider } = scripted(
    [use('read', { chars: 10 }, 0, 'c1'), usage, finish('tool_calls')],
    says('done'),
  )
  const { ask, asked } = asking('n')
  const history: LoopMessage[] = Array.from({ length: 9 }, (_, at) => ({
    role: at % 2 ? 'assistant' : 'user',
    content: `${at} ${'word '.repeat(40)}`,
  }))
  await run(provider, {
    endpoint: endpoint(6_000),
    tools: [read],
    history,
    compression: compression(ask),
  })
  assert.is(asked.length, 1, 'by the estimate it would have fitted')
})

test('a long result beyond an unknown window loses its middle for the turn', async () => {
  const { provider, received } = scripted(
    calls('read', { chars: 90_000 }, 'c1'),
    [new ProviderFailure('context_overflow', 'maximum context length is 8192 tokens')],
    says('done'),
  )
  const { ask } = asking()
  const { outcome, messages } = await run(provider, {
    endpoint: endpoint(0),
    tools: [read],
    compression: compression(ask),
  })
  assert.is(outcome.status, 'finished')
  assert.ok(words(received.at(-1)?.messages ?? []).length < 8_192 * 4)
  assert.match(words(received.at(-1)?.messages ?? []), 'characters left out')
  const result = messages.find(({ role }) => role === 'tool')
  assert.is(String(result?.content).length, 90_000, 'the transcript has all of it')
})

test('without a summary model the turn continues in full', async () => {
  const { provider, received } = scripted(says('answer'))
  const broken: Compression = {
    ...compression(asking().ask),
    get window(): number {
      throw new Error('no such model')
    },
  }
  const history: LoopMessage[] = Array.from({ length: 12 }, (_, n) => ({
    role: n % 2 ? 'assistant' : 'user',
    content: `${n} ${'word '.repeat(200)}`,
  }))
  history.push({ role: 'user', content: 'and now?' })
  const { outcome, events } = await run(provider, {
    endpoint: endpoint(3_000),
    compression: broken,
    history,
  })
  assert.is(outcome.status, 'finished', `${outcome.failure?.message}`)
  assert.is(received[0]?.messages.length, 13)
  assert.match(JSON.stringify(events), /Couldn’t summarize.*no such model/)
})

test.run()
