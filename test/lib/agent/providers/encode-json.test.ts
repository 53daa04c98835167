/** JSON bytes of request bodies: the same as those of JSON.stringify. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { encodeJson } from '../../../../lib/agent/providers/encode-json.ts'

const test = suite('encode JSON')

const BODIES: Record<string, unknown>[] = [
  {},
  { model: undefined },
  { messages: [] },
  { skipped: undefined, messages: [undefined, null, [], {}, [[1], []], 'a'], last: undefined },
  { model: 'm', messages: [{ role: 'user', content: 'ü😀\ud800"\\\n\u2028' }], stream: true },
  { 'a "key"': { nested: [1, { x: undefined }] }, tools: [{ a: 1 }, { b: [2] }], n: Number.NaN },
]

test('equals the bytes of JSON.stringify', () => {
  for (const body of BODIES) assert.is(encodeJson(body).toString(), JSON.stringify(body))
})

test.run()
