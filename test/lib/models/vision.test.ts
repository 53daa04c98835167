/** Which models get images: config.yaml first, then the provider's list, then the family; never by a wild guess. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { parseModelList } from '../../../lib/models/fetch-model-list.ts'
import { resolveFor } from '../../../lib/models/resolve.ts'
import { resolveEndpoint } from '../../../lib/models/endpoint.ts'
import { familyAcceptsImages } from '../../../lib/models/vision.ts'
import { bare, homeOf } from './_home.ts'

const test = suite('models that accept images')

const FAMILIES: Record<string, readonly string[]> = {
  true: [
    'claude-3-haiku-20240307 claude-3-5-haiku claude-sonnet-4-5 anthropic/claude-opus-4.6 claude-haiku-4-5',
    'gpt-4o gpt-4o-mini gpt-4.1 gpt-4.5-preview gpt-4-turbo openai/gpt-5.4 gpt-5-codex o1 o3 o4-mini',
    'gemini-2.5-pro google/gemini-3-flash-preview gemma3:4b gemma-3-27b-it gemma-4-31b-it',
    'grok-4 x-ai/grok-4.20 grok-4-fast grok-2-vision-1212 pixtral-12b-2409 mistral-medium-latest',
    'mistral-small-3.2-24b qwen2.5-vl-72b-instruct qwen3-vl:8b Qwen/Qwen3-VL-30B-A3B qwen-vl-max qwen3.5-plus qwen3.6:35b',
    'meta-llama/llama-4-maverick llama3.2-vision:11b glm-4.5v glm-4v-plus glm-4.6v kimi-k2.5 moonshotai/kimi-k2.6',
    'moonshot-v1-8k-vision-preview llava:7b minicpm-v:8b deepseek-ocr amazon.nova-pro-v1 moondream internvl3-8b',
  ],
  false: [
    'claude-2.1 claude-instant-1.2 gpt-3.5-turbo gpt-4 gpt-4-0613 gpt-oss:20b openai/gpt-oss-120b o1-mini o3-mini',
    'gpt-5.3-codex-spark gpt-4o-audio-preview deepseek-chat deepseek/deepseek-r1 deepseek-v3.2 gemma3:1b',
    'grok-3 grok-3-mini grok-code-fast-1 codestral-latest qwen3-coder:30b qwen3-235b-a22b qwen2.5:7b qwq:32b',
    'llama3.1:8b llama-3.3-70b-instruct llama3.2:3b glm-4.6 glm-5 kimi-k2-thinking moonshot-v1-32k MiniMax-M2.5',
  ],
  undefined: ['test-model some-finetune-v2 my/own eyes'],
}

for (const [expected, names] of Object.entries(FAMILIES))
  test(`by family: ${expected}`, () => {
    for (const name of names.flatMap(line => line.split(' ')))
      assert.is(String(familyAcceptsImages(name)), expected, name)
  })

test('a list of models says it in the way of its provider', () => {
  const visionOf = (raw: object): unknown =>
    parseModelList({ data: [{ id: 'm', ...raw }] })?.[0]?.vision
  for (const raw of [
    { architecture: { input_modalities: ['text', 'image'] } },
    { input_modalities: ['text', 'image'] },
    { modalities: { input: ['text', 'image'], output: ['text'] } },
    { capabilities: { completion_chat: true, vision: true } },
    { capabilities: { family: 'gpt-4o', supports: { vision: true } } },
    { capabilities: { image_input: { supported: true } } },
    { capabilities: ['completion', 'tools', 'vision'] },
    { capabilities: ['completion', 'multimodal'] },
    { supports_image_in: true },
    { type: 'vlm' },
  ])
    assert.is(visionOf(raw), true, JSON.stringify(raw))
  for (const raw of [
    { architecture: { input_modalities: ['text'] } },
    { capabilities: { vision: false } },
    { capabilities: ['completion'] },
    { supports_image_in: false },
    { type: 'llm', arch: 'qwen2' },
  ])
    assert.is(visionOf(raw), false, JSON.stringify(raw))
  for (const raw of [
    {},
    { type: 'model' },
    { type: 'llm' },
    { capabilities: {} },
    { capabilities: 'vision' },
  ])
    assert.is(visionOf(raw), undefined, JSON.stringify(raw))
})

test('config.yaml wins over the list, and the list over the family', () => {
  const visionOf = (model: object, entry: object, listed?: boolean): boolean | undefined => {
    const home = homeOf({
      config: {
        model: { provider: 'custom:box', default: 'gpt-4o', ...model },
        custom_providers: [{ name: 'box', base_url: 'http://box/v1', ...entry }],
      },
    })
    const facts = listed === undefined ? null : { contextLength: 0, vision: listed }
    return resolveEndpoint(home, bare, resolveFor(home, ''), () => facts).vision
  }
  assert.is(visionOf({}, {}), true)
  assert.is(visionOf({}, {}, false), false)
  assert.is(visionOf({ supports_vision: true }, {}, false), true)
  assert.is(visionOf({ supports_vision: 'no' }, {}, true), false)
  assert.is(visionOf({}, { models: { 'gpt-4o': { supports_vision: false } } }, true), false)
  assert.is(visionOf({}, { models: { 'gpt-4o': { vision: 'off' } } }, true), false)
  assert.is(visionOf({ default: 'other', supports_vision: true }, {}), true)
})

test.run()
