/** How a form and a required call reach each API: which fields, beside tools or not, and which rejections are understood. */
import { ProviderFailure } from '../../../../lib/agent/failure.ts'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  answerObjection,
  chatAnswer,
  ollamaAnswer,
  responsesAnswer,
  withAnthropicAnswer,
} from '../../../../lib/agent/providers/answer-fields.ts'
import { toAnthropicBody } from '../../../../lib/agent/providers/anthropic-messages.ts'
import type { Quirk } from '../../../../lib/agent/providers/quirks.ts'
import type { ProviderRequest } from '../../../../lib/agent/types.ts'

const test = suite('answer fields')

const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] }
const form = { name: 'city', schema, strict: true }
const anyObject = { name: 'answer', schema: null, strict: false }
const TOOL = { name: 'look', description: '', parameters: { type: 'object' } }

const request = (baseUrl: string, more: Partial<ProviderRequest> = {}): ProviderRequest => ({
  endpoint: {
    provider: 'custom',
    model: 'claude-sonnet-5',
    apiMode: 'chat_completions',
    baseUrl,
    apiKey: 'k',
    contextLength: 200_000,
  },
  messages: [{ role: 'user', content: 'hello' }],
  tools: [TOOL],
  signal: new AbortController().signal,
  workspace: '/',
  ...more,
})

const OPENAI = 'https://api.openai.com/v1'
const AZURE = 'https://my.openai.azure.com/openai/v1'
const ANTHROPIC = 'https://api.anthropic.com'
const LOCAL = 'http://127.0.0.1:8080/v1'
const LOOKALIKE = 'https://api.openai.com.example.org/v1'

const plain = { json_schema: { name: 'city', schema, strict: true }, type: 'json_schema' }
const flat = { type: 'json_schema', name: 'city', schema, strict: true }
const theirs = { type: 'json_schema', schema }

const anthropic = (asked: ProviderRequest) =>
  withAnthropicAnswer({ output_config: { effort: 'high' } }, asked)
const asked = { answer: form }
const call = { mustCall: true }
const bare = { answer: form, tools: [] }
const any = { answer: anyObject, tools: [] }
const json = { type: 'json_object' }
const effort = { effort: 'high' }

type Case = [
  fields: (asked: ProviderRequest) => object,
  url: string,
  asked: Partial<ProviderRequest>,
  expected: object,
]
/** Beside tools only where the API still calls them; a name that looks like it is another one. */
const CASES: Case[] = [
  [chatAnswer, OPENAI, asked, { response_format: plain }],
  [chatAnswer, AZURE, asked, { response_format: plain }],
  [chatAnswer, LOCAL, asked, {}],
  [chatAnswer, LOOKALIKE, asked, {}],
  [chatAnswer, LOCAL, bare, { response_format: plain }],
  [chatAnswer, LOCAL, any, { response_format: json }],
  [chatAnswer, LOCAL, call, { tool_choice: 'required' }],
  [chatAnswer, OPENAI, {}, {}],
  [responsesAnswer, OPENAI, asked, { text: { format: flat } }],
  [responsesAnswer, LOCAL, asked, {}],
  [responsesAnswer, OPENAI, any, { text: { format: json } }],
  [responsesAnswer, LOCAL, call, { tool_choice: 'required' }],
  [anthropic, ANTHROPIC, asked, { output_config: { ...effort, format: theirs } }],
  // It has no form without a schema.
  [anthropic, ANTHROPIC, any, { output_config: effort }],
  [anthropic, LOCAL, call, { output_config: effort, tool_choice: { type: 'any' } }],
  [ollamaAnswer, LOCAL, asked, {}],
  [ollamaAnswer, LOCAL, bare, { format: schema }],
  [ollamaAnswer, LOCAL, any, { format: 'json' }],
]
for (const [fields, url, more, expected] of CASES)
  test(`${fields.name} of ${Object.keys(more)} at ${url}`, () =>
    assert.equal(fields(request(url, more)), expected))

test('the whole body of Anthropic keeps the effort and the tools beside the form', () => {
  const body = toAnthropicBody(request(ANTHROPIC, { answer: form }), new Set())
  assert.equal((body.output_config as Record<string, unknown>).format, theirs)
  assert.is((body.tools as unknown[]).length, 1)
})

const NONE = new Set<Quirk>()
/** What servers say about it, and what they say about something else. */
const REJECTIONS: [message: string, isNamed: boolean][] = [
  ["Invalid schema for response_format 'city': 'additionalProperties' is required", true],
  ['json_schema is not supported by this model', true],
  ["output_config.format.schema: For 'object' type, additionalProperties must be false", true],
  ['Unsupported parameter: text.format', true],
  ['Thinking may not be enabled when tool_choice forces tool use.', true],
  [
    "Function calling with a response mime type: 'application/json' is unsupported; structured output",
    true,
  ],
  ['Cannot use custom grammar constraints with tools.', true],
  ['max_tokens is too large', false],
]

test('a rejection that names the form is understood first, any other one last; it is never remembered', () => {
  const asked = request(LOCAL, { answer: form })
  for (const [message, isNamed] of REJECTIONS) {
    const failure = new ProviderFailure('error', message)
    const found = answerObjection(failure, NONE, asked, true)
    assert.is(found?.scope, isNamed ? 'call' : undefined, message)
    assert.is(answerObjection(failure, NONE, asked, false)?.scope, 'call', message)
    assert.is(answerObjection(failure, new Set<Quirk>(['no answer form']), asked, false), null)
    assert.is(answerObjection(failure, NONE, request(LOCAL), false), null)
  }
})

test.run()
