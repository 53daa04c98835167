/** Cross-check of our three formats against an independent mock server. */
import { systemClock } from '../../../../lib/base/clock.ts'
import { LLMock } from '@copilotkit/aimock'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { createProviders } from '../../../../lib/agent/providers/registry.ts'
import type { ApiMode, ModelEndpoint, Tool } from '../../../../lib/agent/types.ts'
import { run } from '../_run.ts'

const providers = createProviders(undefined, systemClock)

const weather: Tool = {
  name: 'weather',
  summary: 'The weather somewhere.',
  input: z.object({ city: z.string() }),
  kind: 'read',
  preview: () => 'weather',
  run: (_ctx, input) => ({ content: JSON.stringify({ ...(input as object), sky: 'clear' }) }),
}

const MODELS: [ApiMode, string][] = [
  ['chat_completions', 'gpt-4o'],
  ['anthropic_messages', 'claude-sonnet-4-5'],
  ['codex_responses', 'gpt-5.4'],
]

for (const [apiMode, model] of MODELS) {
  const test = suite<{ mock: LLMock }>(`aimock ${apiMode}`)

  test.before.each(async context => {
    context.mock = await LLMock.create({ port: 0, chunkSize: 3 })
  })
  test.after.each(({ mock }) => mock.stop())

  const talk = (mock: LLMock, said: string) => {
    const endpoint: ModelEndpoint = {
      provider: 'custom',
      model,
      apiMode,
      baseUrl: `${mock.url}/v1`,
      apiKey: 'sk-mock',
      contextLength: 1000,
    }
    const request = { endpoint, providers, tools: [weather], sessionKey: 's' }
    return run(providers[apiMode]!, { ...request, history: [{ role: 'user', content: said }] })
  }

  test('a request it refuses', async ({ mock }) => {
    mock.nextRequestError(401, { message: 'no such key', type: 'authentication_error' })
    const { outcome } = await talk(mock, 'hello')
    assert.equal([outcome.status, outcome.failure?.type], ['failed', 'auth_mismatch'])
  })

  test('words', async ({ mock }) => {
    mock.onMessage('hello', { content: 'Hello there, 漢字 and 🦊.' })
    const { outcome } = await talk(mock, 'hello')
    assert.equal([outcome.status, outcome.text], ['finished', 'Hello there, 漢字 and 🦊.'])
  })

  test('two rounds of parallel calls with reasoning, then text', async ({ mock }) => {
    const call = (id: string, city: string) => ({
      id,
      name: 'weather',
      arguments: JSON.stringify({ city }),
    })
    const said = { userMessage: 'weather' }
    mock.on(
      { ...said, hasToolResult: false },
      { toolCalls: [call('call_a', 'Oslo'), call('call_b', 'Rome')], reasoning: 'Both.' },
    )
    mock.on({ ...said, toolCallId: 'call_b' }, { toolCalls: [call('call_c', 'Bern')] })
    mock.on({ ...said, toolCallId: 'call_c' }, { content: 'Clear everywhere.' })
    const { outcome, messages } = await talk(mock, 'the weather?')
    assert.equal(
      [outcome.status, outcome.text, outcome.steps],
      ['finished', 'Clear everywhere.', 3],
    )
    assert.equal(
      messages.filter(({ role }) => role === 'tool').map(({ content }) => content),
      ['Oslo', 'Rome', 'Bern'].map(city => JSON.stringify({ city, sky: 'clear' })),
    )
    // The mock parsed all our requests as the same conversation.
    const seen = mock.getRequests().at(-1)?.body as { messages: { role: string }[] }
    const roles = seen.messages.map(({ role }) => role).filter(role => role !== 'system')
    // Calls of one response are separate items in one format, and one message in the others.
    assert.equal(
      roles.filter((role, at) => role !== 'assistant' || roles[at - 1] !== role),
      ['user', 'assistant', 'tool', 'tool', 'assistant', 'tool'],
    )
  })

  test.run()
}
