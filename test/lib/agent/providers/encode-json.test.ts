/** JSON bytes of request bodies: the same as those of JSON.stringify. */
import * as assert from 'uvu/assert'
import { suite } from 'uvu'
import { encodeJson } from '../../../../lib/agent/providers/http-post.ts'

const test = suite('encode JSON')

const BODIES: Record<string, unknown>[] = [
  {},
  { model: undefined },
  { messages: [] },
  { skipped: undefined, messages: [undefined, null, [], {}, [[1], []], 'a'], last: undefined },
  { model: 'm', messages: [{ role: 'user', content: 'ü😀"\\\n\u2028' }], stream: true },
  { 'a "key"': { nested: [1, { x: undefined }] }, tools: [{ a: 1 }, { b: [2] }], n: Number.NaN },
]

test('equals the bytes of JSON.stringify', () => {
  for (const body of BODIES) assert.is(encodeJson(body).toString(), JSON.stringify(body))
})

test('memory of an earlier body is used if it is large enough, and nothing of it is sent', () => {
  const long = { messages: Array.from({ length: 500 }, () => ({ content: 'ü'.repeat(500) })) }
  const first = encodeJson(long)
  assert.is(first.toString(), JSON.stringify(long))
  const memory = Buffer.from(first.buffer)
  for (const body of [...BODIES, { ...long, last: 'x' }]) {
    const next = encodeJson(body, memory)
    assert.is(next.toString(), JSON.stringify(body))
    assert.is(next.buffer, memory.buffer)
  }
  const longer = { messages: [...long.messages, ...long.messages, ...long.messages] }
  assert.is(encodeJson(longer, memory).toString(), JSON.stringify(longer))
})

test('half characters, which strict servers reject, are replaced; text that spells them is not', () => {
  const cut = '😀'.slice(0, 1)
  const late = '😀'.slice(1)
  for (const [sent, received] of [
    [`a${cut}`, 'a\ufffd'],
    [`${late}b${cut}`, '\ufffdb\ufffd'],
    [`\\${cut}`, '\\\ufffd'],
    ['the text \\ud83d', 'the text \\ud83d'],
    ['C:\\\\ud83d and 😀', 'C:\\\\ud83d and 😀'],
  ]) {
    const body = {
      system: sent,
      messages: [{ content: sent, [`key${cut}`]: [sent] }],
      [`k${cut}`]: 1,
    }
    assert.equal(JSON.parse(encodeJson(body).toString()), {
      system: received,
      messages: [{ content: received, 'key\ufffd': [received] }],
      'k\ufffd': 1,
    })
  }
})

test.run()
