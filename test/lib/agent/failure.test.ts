/** Classification of failures, and retry delays. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { classify, hintFor } from '../../../lib/agent/failure.ts'
import {
  parseRetryAfter,
  retryAfterInHeaders,
  retryAfterInText,
  rateLimitReset,
} from '../../../lib/agent/retry-after.ts'
import { errorMessageIn } from '../../../lib/agent/providers/http-post.ts'
import { contextLimitIn } from '../../../lib/agent/tokens.ts'

const test = suite('provider failures')

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

/** Sentences about the length of the prompt, all with status 400. Others are in the table of failures. */
const OVERFLOWS = [
  "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
  'Your request exceeded model token limit: 262144 (requested: 300000)',
  'Prompt exceeds max length',
  'InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]',
  'Unable to submit request because the input token count is 1200000 but model only supports up to 1048576.',
  'The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).',
  'prompt is too long: 213462 tokens > 200000 maximum',
  'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000',
  'Your input exceeds the context window of this model. Please adjust your input and try again.',
  'the request exceeds the available context size, try increasing it',
  'The number of tokens to keep from the initial prompt is greater than the context length',
  'prompt token count of 140000 exceeds the limit of 128000',
  'invalid params, context window exceeds limit (2013)',
  'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
  'Input is too long for requested model.',
]
for (const message of OVERFLOWS)
  test(`too long: ${message}`, () => {
    assert.is(classify({ status: 400, message }).type, 'context_overflow')
  })

test('finds the context limit in an error message', () => {
  for (const [message, window] of [
    [
      "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
      131_072,
    ],
    ['Your request exceeded model token limit: 262144 (requested: 300000)', 262_144],
    ['Range of input length should be [1, 129024]', 129_024],
    ['input token count is 1200000 but model only supports up to 1048576.', 1_048_576],
    ['Limit 30000, Requested 50000.', 30_000],
    ['`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens', 8_193],
    ['`inputs` must have less than 4096 tokens. Given: 5000', 4_096],
  ] as const)
    assert.is(contextLimitIn(message), window)
})

test('an empty 400 may be an overflow', () => {
  const mute = classify({
    status: 400,
    message: 'The provider answered with status 400.',
    isBodyEmpty: true,
  })
  assert.equal([mute.type, mute.isBodyEmpty], ['context_overflow', true])
})

test('every failure a user can act on has a hint', () => {
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
  assert.is(parseRetryAfter(undefined, NOW), undefined)
  assert.is(parseRetryAfter('soon', NOW), undefined)
  assert.is(parseRetryAfter('1.5', NOW), 1500)
  assert.is(parseRetryAfter('Thu, 01 Jan 1970 00:00:10 GMT', 4000), 6000)
  assert.is(parseRetryAfter('Thu, 01 Jan 1970 00:00:10 GMT', 90_000), 0)
})

const NOW = Date.parse('2026-01-01T00:00:00Z')
const ASKED: [string, number | undefined][] = [
  ['Rate limit reached. Please try again in 8.2s. Visit …', 8_200],
  ['Please retry in 34.074824224s.', 34_075],
  ['Please try again in 1m20s.', 80_000],
  ['try again in 6m0.5s', 360_500],
  ['Please try again in 350ms', 350],
  ['Too many requests, retry after 20 seconds', 20_000],
  ['Please wait 2 minutes before trying again', 120_000],
  ['The limit resets in 1 hour and 5 minutes', 3_900_000],
  ['{"error":{"details":[{"@type":"RetryInfo","retryDelay":"34s"}]}}', 34_000],
  ['{"detail":"slow","retry_after":5}', 5_000],
  ['{"retry_after_ms": 1500}', 1_500],
  ['try again later', undefined],
  ['Please retry your request 3 times', undefined],
  ['The quota resets at 12 pm', undefined],
  ['limit 20 requests per 1 m', undefined],
]
for (const [words, ms] of ASKED)
  test(`retry delay in a sentence: ${words}`, () => {
    const found = retryAfterInText(words)
    assert.is(found === undefined ? undefined : Math.round(found), ms)
  })

test('retry delay in headers', () => {
  assert.is(retryAfterInHeaders({ 'retry-after-ms': '1500', 'retry-after': '60' }, NOW), 1_500)
  assert.is(retryAfterInHeaders({ 'retry-after': '7' }, NOW), 7_000)
  for (const [headers, ms] of [
    [{ 'x-ratelimit-reset': '12' }, 12_000],
    [{ 'x-ratelimit-reset': String(NOW + 9_000) }, 9_000],
    [{ 'x-ratelimit-reset': String(NOW / 1_000 + 9) }, 9_000],
    [{ 'anthropic-ratelimit-tokens-reset': '2026-01-01T00:00:30Z' }, 30_000],
    [{ 'ratelimit-reset': '3' }, 3_000],
    [
      {
        'x-ratelimit-reset-requests': '1s',
        'x-ratelimit-remaining-requests': '59',
        'x-ratelimit-reset-tokens': '6m0s',
        'x-ratelimit-remaining-tokens': '0',
      },
      360_000,
    ],
    [{ 'x-ratelimit-reset': '5', 'x-ratelimit-remaining': '10' }, undefined],
    [{ 'content-type': 'text/html' }, undefined],
  ] as const)
    assert.is(rateLimitReset(headers, NOW), ms)
})

test('the message in an error body', () => {
  assert.is(
    errorMessageIn('{"error":{"message":"a","metadata":{"raw":"{\\"message\\":\\"b\\"}"}}}'),
    'a: b',
  )
  assert.is(errorMessageIn('[{"error":{"message":"a"}}]'), 'a')
  assert.is(errorMessageIn('<html><head><title>502 Bad\nGateway</title>'), '502 Bad Gateway')
  assert.is(errorMessageIn('plain'), 'plain')
  for (const nothing of ['null', '{}', ' [ ]\n', 'false', '""', '0'])
    assert.is(errorMessageIn(nothing), '', nothing)
  assert.is(errorMessageIn('x'.repeat(2000)).length, 600)
})

test.run()
