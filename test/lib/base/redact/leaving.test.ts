/** What leaves: known values only, JSON stays JSON, and bytes without a secret are the same bytes. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { maskLeaving, maskLeavingBytes, watchSecrets } from '../../../../lib/base/redact/redact.ts'
import { createRandom } from '../../../_random.ts'

const test = suite('what leaves')

const SECRETS = [
  'nab"c\\42-QwErTyUiOp12',
  'short-9zX',
  'token-Kq83hfLmz0PwXs71',
  'pässwörd-4711-äöü',
]
const FORMAT = 'sk-abcdefghijklmnopqrstuvwxyz012345'
let unwatch = () => {}
test.before.each(() => {
  const secrets = [...SECRETS]
  unwatch = watchSecrets(() => secrets)
})
test.after.each(() => unwatch())

/** Every string of a value, keys included. */
const stringsIn = (value: unknown): string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.entries(value).flatMap(([key, inner]) => [key, ...stringsIn(inner)])
      : []

test('secrets are gone from values and keys of JSON, which stays JSON', () => {
  const random = createRandom(3)
  const parts = [...SECRETS, '\n', '\\', '"', ' ', 'n', 'x', '\u001b[31m', '{', '},', 'ü', '\t']
  for (let run = 0; run < 2_000; run++) {
    const text = () => Array.from({ length: random.below(8) }, () => random.pick(parts)).join('')
    const value = { [text()]: text(), list: [text(), { [text()]: JSON.stringify({ a: text() }) }] }
    const json = JSON.stringify(value)
    for (const masked of [maskLeaving(json), String(maskLeavingBytes(Buffer.from(json)))])
      for (const each of stringsIn(JSON.parse(masked)))
        for (const secret of SECRETS) assert.not.ok(each.includes(secret), `${json}\n${masked}`)
  }
})

test('a value outside of strings is replaced by a string, so that JSON stays JSON', () => {
  const secrets = ['481516234299', '-1.2345678901234567', '7654321,89012345', '{"kty":"oct-k9Z"}']
  const stop = watchSecrets(() => secrets)
  const cases: [string, string][] = [
    ['{"n":481516234299}', '{"n":"***"}'],
    ['{"n": 481516234299 , "m":1}', '{"n": "***" , "m":1}'],
    ['[1,-481516234299,481516234299.5,1481516234299e3]', '[1,"***","***","***"]'],
    ['[481516234299481516234299]', '["***"]'],
    ['{"n":-1.2345678901234567}', '{"n":"-1.234...4567"}'],
    ['[7654321,89012345]', '["***"]'],
    ['{"key":{"kty":"oct-k9Z"}}', '{"key":"***"}'],
    ['event: a\ndata: {"n":481516234299}\n\n', 'event: a\ndata: {"n":"***"}\n\n'],
    // In strings, and in text that is no JSON, as always.
    ['{"s":"481516234299"}', '{"s":"***"}'],
    ['{"s":"a\\":481516234299,"}', '{"s":"a\\":***,"}'],
    ['{"s":"\\\\","n":481516234299}', '{"s":"\\\\","n":"***"}'],
    ['{"s":"[481516234299]","n":[481516234299]}', '{"s":"[***]","n":["***"]}'],
    ['call 481516234299, please', 'call ***, please'],
  ]
  for (const [text, masked] of cases) assert.is(maskLeaving(text), masked)
  stop()
})

test('what only looks like a secret passes: a new token is shown once', () => {
  assert.is(maskLeaving(`{"token":"${FORMAT}"}`), `{"token":"${FORMAT}"}`)
})

test('bytes are scanned again for other secrets, and stay the same where nothing is masked', () => {
  const bytes = Buffer.from(`{"a":"later-Zz19yX28-known"}`)
  assert.is(maskLeavingBytes(bytes), bytes)
  const later = ['later-Zz19yX28-known']
  const stop = watchSecrets(() => later)
  assert.is(String(maskLeavingBytes(bytes)), '{"a":"later-...nown"}')
  stop()
  assert.is(maskLeavingBytes(bytes), bytes)
})

test.run()
