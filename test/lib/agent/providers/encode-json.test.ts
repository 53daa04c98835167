/** JSON bytes of request bodies: the same as those of JSON.stringify. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createBodyMemory } from '../../../../lib/agent/providers/body-memory.ts'
import { encodeJson } from '../../../../lib/agent/providers/encode-json.ts'
import { createTestClock } from '../../../_clock.ts'

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

test('a body uses the memory of one that the same server answered, never of one that may still be sent', () => {
  const memory = createBodyMemory(createTestClock())
  const to = (server: string) => (bytes: number) => memory.take(bytes, server)
  const here = to('https://a.example')
  const sent = encodeJson({ text: 'may still be sent' }, here)
  const answered = encodeJson({ text: 'was answered' }, here)
  memory.release(answered, 'https://a.example')
  const next = encodeJson({ text: 'a short one' }, here)
  assert.is(next.buffer, answered.buffer)
  assert.is(next.toString(), '{"text":"a short one"}')
  const third = encodeJson({ text: 'another' }, here)
  assert.is.not(third.buffer, next.buffer)
  assert.is(sent.toString(), '{"text":"may still be sent"}')
  assert.is(next.toString(), '{"text":"a short one"}')
  memory.release(next, 'https://a.example')
  const longer = encodeJson({ text: 'x'.repeat(3_000_000) }, here)
  assert.is.not(longer.buffer, next.buffer, 'it does not fit')
  assert.is(JSON.parse(longer.toString()).text.length, 3_000_000)
  memory.release(longer, 'https://a.example')
  const elsewhere = encodeJson({ text: 'for another server' }, to('https://b.example'))
  assert.is.not(elsewhere.buffer, longer.buffer)
  assert.is(elsewhere.toString(), '{"text":"for another server"}')
})

test.run()
