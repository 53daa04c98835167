/** The table that sorts failures, and waits: pure. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { classify, hintFor, parseRetryAfter, ProviderFailure } from '../../../lib/agent/failure.ts'
import { reasoning } from '../../../lib/agent/providers/openai-body.ts'
import { sayError } from '../../../lib/agent/providers/post.ts'
import { retryDelayMs, wait } from '../../../lib/agent/retry.ts'
import type { ModelEndpoint } from '../../../lib/agent/types.ts'

const test = suite('failure')

const WORDS: [string, string][] = [
  ['You exceeded your current quota', 'quota_exhausted'],
  ['Your credit balance is too low', 'quota_exhausted'],
  ['Rate limit reached for requests', 'rate_limit'],
  ['Invalid API key provided', 'auth_mismatch'],
  ['No cookie auth credentials found', 'auth_mismatch'],
  ['The model `x` does not exist', 'model_not_found'],
  ["This model's maximum context length is 4096 tokens", 'context_overflow'],
  ['The server is overloaded', 'network'],
  ['Something odd', 'error'],
]
for (const [message, type] of WORDS)
  test(`without status: ${message}`, () => {
    assert.is(classify({ message }).type, type)
  })

test('every kind a person can do something about has a hint', () => {
  for (const type of [
    'quota_exhausted',
    'rate_limit',
    'auth_mismatch',
    'model_not_found',
    'context_overflow',
    'network',
    'no_response',
  ] as const)
    assert.ok(hintFor(type))
  assert.is(hintFor('error'), undefined)
})

test('Retry-After', () => {
  assert.is(parseRetryAfter(undefined), undefined)
  assert.is(parseRetryAfter('soon'), undefined)
  assert.is(parseRetryAfter('1.5'), 1500)
  assert.is(parseRetryAfter('Thu, 01 Jan 1970 00:00:10 GMT', 4000), 6000)
  assert.is(parseRetryAfter('Thu, 01 Jan 1970 00:00:10 GMT', 90_000), 0)
})

test('waits double, are spread, and end at their caps', () => {
  assert.equal(
    [1, 2, 3, 9].map(n => retryDelayMs(n, null, () => 1)),
    [2000, 4000, 8000, 60_000],
  )
  assert.is(
    retryDelayMs(1, null, () => 0),
    1000,
  )
  assert.is(
    retryDelayMs(1, new ProviderFailure('rate_limit', '', { retryAfterMs: 0 }), () => 1),
    0,
  )
})

test('a wait can be ended', async () => {
  const stop = new AbortController()
  const waiting = wait(60_000, stop.signal)
  stop.abort(new Error('enough'))
  await waiting.then(
    () => assert.unreachable(),
    error => assert.is(error.message, 'enough'),
  )
})

test('the sentence in an error body', () => {
  assert.is(
    sayError('{"error":{"message":"a","metadata":{"raw":"{\\"message\\":\\"b\\"}"}}}'),
    'a: b',
  )
  assert.is(sayError('[{"error":{"message":"a"}}]'), 'a')
  assert.is(sayError('<html><head><title>502 Bad\nGateway</title>'), '502 Bad Gateway')
  assert.is(sayError('plain'), 'plain')
  assert.is(sayError('x'.repeat(2000)).length, 600)
})

const at = (extra: Partial<ModelEndpoint>): ModelEndpoint => ({
  provider: 'custom',
  model: 'm',
  apiMode: 'chat_completions',
  baseUrl: 'https://llm.example/v1',
  apiKey: null,
  contextLength: 0,
  ...extra,
})
const router = { provider: 'openrouter', model: 'openai/gpt-5' }

test('reasoning effort in the words of each endpoint', () => {
  assert.equal(reasoning(at({ ...router })), { reasoning: { enabled: true, effort: 'medium' } })
  assert.equal(reasoning(at({ ...router, effort: 'none' })), { reasoning: { enabled: false } })
  assert.equal(reasoning(at({ ...router, provider: 'nous', effort: 'none' })), {})
  assert.equal(reasoning(at({ ...router, model: 'meta/llama', effort: 'high' })), {})
  assert.equal(reasoning(at({})), {})
  assert.equal(reasoning(at({ effort: 'none' })), {})
  assert.equal(reasoning(at({ effort: 'low' })), { reasoning_effort: 'low' })
  assert.equal(reasoning(at({ effort: 'xhigh' })), { reasoning_effort: 'high' })
  assert.equal(reasoning(at({ effort: 'xhigh', baseUrl: 'https://api.openai.com/v1' })), {
    reasoning_effort: 'xhigh',
  })
})

test.run()
