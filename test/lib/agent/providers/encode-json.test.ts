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
  for (const body of BODIES) assert.is(encodeJson(body).bytes.toString(), JSON.stringify(body))
})

test('memory of an earlier body is used if it is large enough, and nothing of it is sent', () => {
  const long = { messages: Array.from({ length: 500 }, () => ({ content: 'ü'.repeat(500) })) }
  let last = encodeJson(long)
  assert.is(last.bytes.toString(), JSON.stringify(long))
  const { memory } = last
  for (const body of [...BODIES, { ...long, last: 'x' }]) {
    last = encodeJson(body, last)
    assert.is(last.bytes.toString(), JSON.stringify(body))
    assert.is(last.memory, memory)
  }
  const longer = { messages: [...long.messages, ...long.messages, ...long.messages] }
  assert.is(encodeJson(longer, last).bytes.toString(), JSON.stringify(longer))
})

test('what both bodies begin with, such as a history, is not encoded again', () => {
  const encoded: string[] = []
  function toJSON(this: { name: string }) {
    encoded.push(this.name)
    return { ...this }
  }
  const made = (name: string, more: object = {}) => ({
    content: [{ type: 'text', text: name }],
    name,
    ...more,
    toJSON,
  })
  const bodyOf = (messages: unknown[]) => ({ model: 'm', messages, stream: true })
  let last = encodeJson(bodyOf([made('a'), made('b'), made('c')]))
  for (const [messages, expected] of [
    [[made('a'), made('b'), made('c'), made('d')], 'd'],
    [[made('a'), made('b'), made('c'), made('d'), made('e'), made('f')], 'ef'],
    [[made('a'), made('b', { cached: true }), made('c')], 'bc'],
    [[made('a'), made('b'), made('c')], 'bc'],
    [[made('a'), made('b'), made('c')], ''],
    [[made('a')], ''],
    [[made('b')], 'b'],
  ] as const) {
    encoded.length = 0
    last = encodeJson(bodyOf([...messages]), last)
    assert.is(encoded.join(''), expected)
    assert.is(last.bytes.toString(), JSON.stringify(bodyOf([...messages])))
  }
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
    assert.equal(JSON.parse(encodeJson(body).bytes.toString()), {
      system: received,
      messages: [{ content: received, 'key\ufffd': [received] }],
      'k\ufffd': 1,
    })
  }
})

test.run()
