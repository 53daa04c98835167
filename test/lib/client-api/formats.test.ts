/** Request formats with damaged bodies: a body is understood or rejected with a sentence, and never an error of the program. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { ApiRequest } from '../../../lib/client-api/api-request.ts'
import {
  type ApiFormat,
  chatFormat,
  messagesFormat,
  responsesFormat,
} from '../../../lib/client-api/formats.ts'
import {
  callsOf,
  checkResults,
  splitMessages,
  toTranscript,
} from '../../../lib/client-api/new-messages.ts'
import { historyKey } from '../../../lib/client-api/conversations.ts'
import { UserError } from '../../../lib/errors.ts'
import { createRandom, type Random, randomJson } from '../../_random.ts'

const test = suite('request formats')

const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] }
const FORMATS: [format: ApiFormat<ApiRequest>, body: Record<string, unknown>][] = [
  [
    chatFormat as unknown as ApiFormat<ApiRequest>,
    {
      model: 'agent',
      messages: [
        { role: 'developer', content: [{ type: 'text', text: 'Be brief.' }] },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'Hi' },
            { type: 'image_url', image_url: { url: 'data:image/png;base64,AA==' } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
        },
        { role: 'tool', tool_call_id: 'c1', content: [{ type: 'text', text: '1' }] },
      ],
      tools: [
        {
          type: 'function',
          function: { name: 'f', description: 'x', strict: true, parameters: SCHEMA },
        },
      ],
      tool_choice: 'auto',
      stream_options: { include_usage: true },
    },
  ],
  [
    responsesFormat as unknown as ApiFormat<ApiRequest>,
    {
      model: 'agent',
      instructions: 'Be brief.',
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'Hi' },
            { type: 'input_image', image_url: 'https://x.example/a.png' },
          ],
        },
        { type: 'reasoning', id: 'rs_1', summary: [] },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Yes' }] },
        { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{}' },
        { type: 'function_call_output', call_id: 'c1', output: '1' },
      ],
      tools: [{ type: 'function', name: 'f', parameters: SCHEMA, strict: true }],
      text: { format: { type: 'text' } },
      reasoning: { effort: 'low' },
    },
  ],
  [
    messagesFormat,
    {
      model: 'agent',
      max_tokens: 10,
      system: [{ type: 'text', text: 'Be brief.' }],
      messages: [
        { role: 'user', content: 'Hi' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'x', signature: 'y' },
            { type: 'text', text: 'Yes' },
            { type: 'tool_use', id: 'c1', name: 'f', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', tool_use_id: 'c1', content: [{ type: 'text', text: '1' }] },
          ],
        },
      ],
      tools: [{ name: 'f', input_schema: SCHEMA }],
      tool_choice: { type: 'auto' },
    },
  ],
]

/** The same body with one value somewhere inside replaced or removed. */
const damage = (value: unknown, random: Random): unknown => {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : []
  if (entries.length === 0 || random.next() < 0.15) return randomJson(random)
  const [key] = random.pick(entries)
  const copy = structuredClone(value) as Record<string, unknown>
  if (random.next() < 0.1) delete copy[key]
  else copy[key] = damage(copy[key], random)
  return copy
}

const understand = (format: ApiFormat<ApiRequest>, body: unknown): void => {
  const request = format.parse(body as Record<string, unknown>)
  const split = splitMessages(request.messages, format.param)
  checkResults(split.results, callsOf(split.history), format.param)
  toTranscript(split.history)
  historyKey(request.messages)
}

for (const [format, body] of FORMATS)
  test(`${format.param} of ${Object.keys(body).join(', ')}`, () => {
    understand(format, body)
    const random = createRandom(20_261)
    let understood = 0
    for (let at = 0; at < (process.env.PROOF === 'full' ? 20_000 : 1_500); at++) {
      const damaged = { ...(damage(body, random) as object) }
      try {
        understand(format, damaged)
        understood++
      } catch (error) {
        assert.ok(error instanceof UserError, `${String(error)} ${JSON.stringify(damaged)}`)
        assert.is(error.kind, 'invalid')
        assert.ok(error.message.length > 5 && error.message.length < 1_000, error.message)
      }
    }
    // The test would prove nothing if all were rejected, or none.
    assert.ok(understood > 50, `${understood} understood`)
    assert.ok(understood < 1_400 || process.env.PROOF === 'full', `${understood} understood`)
  })

test.run()
