/** Which endpoints get reasoning of finished turns back. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  preservedThinkingFields,
  withEarlierReasoning,
} from '../../../../lib/agent/providers/earlier-reasoning.ts'
import type { Quirk } from '../../../../lib/agent/providers/quirks.ts'
import type { HttpApiMode, ModelEndpoint, ProviderRequest } from '../../../../lib/agent/types.ts'

const test = suite('earlier reasoning')

const at = (
  model: string,
  baseUrl = 'https://llm.example/v1',
  extra: Partial<ModelEndpoint> = {},
): ModelEndpoint => ({
  provider: 'custom',
  model,
  apiMode: 'chat_completions',
  baseUrl,
  apiKey: null,
  contextLength: 0,
  ...extra,
})

const request = (endpoint: ModelEndpoint): ProviderRequest => ({
  endpoint,
  messages: [
    {
      role: 'assistant',
      content: 'old',
      providerState: { endpointKey: 'k', items: [1], isEarlier: true },
    },
    { role: 'assistant', content: 'new', providerState: { endpointKey: 'k', items: [2] } },
  ],
  tools: [],
  signal: new AbortController().signal,
  workspace: '/',
})

/** Whether the earlier state stays. That of the current turn always does. */
const isReturned = (endpoint: ModelEndpoint, ...quirks: Quirk[]): boolean => {
  const { messages } = withEarlierReasoning(request(endpoint), new Set(quirks))
  assert.equal(messages[1]?.providerState?.items, [2])
  return messages[0]?.providerState !== undefined
}

/** Model, host, and wire format if not chat. */
const RETURNED = `
deepseek-v4-pro api.deepseek.com
deepseek-reasoner
deepseek/deepseek-v3.2
kimi-k2-thinking
moonshotai/Kimi-K2.6
kimi-k3
glm-4.7
zai-org/GLM-5.1
MiniMax-M2
minimaxai/minimax-m2.5
Qwen/Qwen3.6-35B-A3B
qwen3.7-plus
gemini-3-pro-preview
google/gemini-2.5-flash
anything openrouter.ai
claude-opus-4-6 api.anthropic.com anthropic_messages
claude-sonnet-4-5 proxy.example anthropic_messages
kimi-k2.6 api.moonshot.ai anthropic_messages
gpt-5.4 api.openai.com codex_responses
grok-5 api.x.ai codex_responses`
const NOT_RETURNED = `
some-model
gpt-oss-120b
deepseek-r1:70b
deepseek-ai/DeepSeek-R1-0528
deepseek-r1-distill-llama-70b api.groq.com
moonshotai/kimi-k2-thinking api.groq.com
kimi-k2-instruct
zai-glm-4.7 api.cerebras.ai
magistral-medium-latest api.mistral.ai
glm-4.5-air
glm-4.6
qwen3-30b-a3b-thinking
qwen3.5-plus
MiniMax-M1
claude-opus-4-6 litellm.example`
for (const [rows, isExpected] of [
  [RETURNED, true],
  [NOT_RETURNED, false],
] as const)
  for (const row of rows.trim().split('\n'))
    test(`${isExpected ? 'returned' : 'not returned'}: ${row}`, () => {
      const [model = '', host = 'llm.example', apiMode = 'chat_completions'] = row.split(' ')
      const endpoint = at(model, `https://${host}/v1`, { apiMode: apiMode as HttpApiMode })
      assert.is(isReturned(endpoint), isExpected)
      // What a rejection taught overrides the table.
      assert.is(isReturned(endpoint, 'earlier reasoning'), true)
      assert.is(isReturned(endpoint, 'earlier reasoning', 'no earlier reasoning'), false)
    })

test("the fields for preserved thinking go to the family's own servers only, until one rejects them", () => {
  const kimi = { thinking: { type: 'enabled', keep: 'all' } }
  const glm = { thinking: { type: 'enabled', clear_thinking: false } }
  for (const [endpoint, expected] of [
    [at('kimi-k2.6', 'https://api.moonshot.ai/v1'), kimi],
    [at('kimi-k2.7-code', 'https://api.moonshot.cn/v1'), kimi],
    [at('kimi-k2-thinking', 'https://api.moonshot.ai/v1'), {}],
    [at('kimi-k3', 'https://api.moonshot.ai/v1'), {}],
    [at('moonshotai/kimi-k2.6', 'https://api.together.xyz/v1'), {}],
    [at('glm-5', 'https://api.z.ai/api/paas/v4'), glm],
    [at('glm-4.7', 'https://open.bigmodel.cn/api/paas/v4'), glm],
    [at('glm-4.6', 'https://api.z.ai/api/paas/v4'), {}],
    [at('glm-5', 'https://notz.ai/v1'), {}],
    [at('glm-5', 'https://api.z.ai/api/paas/v4', { effort: 'none' }), {}],
  ] as const) {
    assert.equal(preservedThinkingFields(endpoint, new Set()), expected, endpoint.model)
    assert.equal(preservedThinkingFields(endpoint, new Set(['no thinking fields'])), {})
  }
})

test.run()
