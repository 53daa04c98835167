/** The names of errors in the bodies of providers. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { errorFieldsIn } from '../../../lib/agent/error-fields.ts'

const test = suite('error fields')

const CASES: [string, unknown, string[], string | undefined][] = [
  [
    'OpenAI',
    {
      error: {
        message: 'Too long.',
        type: 'invalid_request_error',
        param: 'messages',
        code: 'context_length_exceeded',
      },
    },
    ['context_length_exceeded', 'invalid_request_error'],
    'messages',
  ],
  [
    'Anthropic',
    { type: 'error', error: { type: 'overloaded_error' } },
    ['overloaded_error'],
    undefined,
  ],
  [
    'Google, in the list its compatible endpoint sends',
    [
      {
        error: {
          code: 400,
          status: 'INVALID_ARGUMENT',
          details: [{ '@type': 'ErrorInfo', reason: 'API_KEY_INVALID' }],
        },
      },
    ],
    ['API_KEY_INVALID', 'INVALID_ARGUMENT'],
    undefined,
  ],
  [
    'Azure',
    { error: { code: 'content_filter', innererror: { code: 'ResponsibleAIPolicyViolation' } } },
    ['ResponsibleAIPolicyViolation', 'content_filter'],
    undefined,
  ],
  [
    'OpenRouter',
    { error: { code: 402, metadata: { limit_source: 'openrouter_in_flight_budget' } } },
    ['openrouter_in_flight_budget'],
    undefined,
  ],
  [
    'OpenRouter, the error of the provider behind it',
    { error: { code: 400, metadata: { raw: '{"error":{"code":"string_above_max_length"}}' } } },
    ['string_above_max_length'],
    undefined,
  ],
  ['z.ai', { error: { code: '1113', message: '余额不足' } }, ['1113'], undefined],
  ['DashScope', { code: 'Throttling.AllocationQuota' }, ['Throttling.AllocationQuota'], undefined],
  [
    'vLLM, older',
    { object: 'error', type: 'BadRequestError', param: null, code: 400 },
    ['BadRequestError'],
    undefined,
  ],
  ['TGI', { error: 'too long', error_type: 'validation' }, ['validation'], undefined],
  [
    'Bedrock',
    { __type: 'com.amazon.coral.service#ThrottlingException' },
    ['ThrottlingException'],
    undefined,
  ],
  [
    'FastAPI',
    { detail: [{ loc: ['body', 'tools', 0, 'name'], msg: 'too long', type: 'string_too_long' }] },
    ['string_too_long'],
    'tools.0.name',
  ],
  [
    'Ollama, the error of its runner',
    { error: '{"error":{"code":500,"type":"exceed_context_size_error"}}' },
    ['exceed_context_size_error'],
    undefined,
  ],
  ['a sentence', 'model not found', [], undefined],
  ['a page', '<html></html>', [], undefined],
]
for (const [name, body, codes, param] of CASES)
  test(name, () => {
    assert.equal(errorFieldsIn(body), { codes, param })
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    assert.equal(errorFieldsIn(text), { codes, param })
  })

test.run()
