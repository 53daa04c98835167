/** Message content of the host agent's database: plain text, and lists of parts behind a prefix. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { readContent } from '../../../../lib/sessions/host-db/content.ts'

const parts = (value: unknown): string => `\0json:${JSON.stringify(value)}`

const test = suite('host-db content')

test('returns plain text unchanged', () => {
  assert.is(readContent('hello\nworld'), 'hello\nworld')
  assert.is(readContent('[{"type":"text"}]'), '[{"type":"text"}]')
  assert.is(readContent(''), '')
})

test('returns an empty string for values that are not text', () => {
  for (const value of [null, undefined, 7, Buffer.from('x')]) assert.is(readContent(value), '')
})

test('joins the text of parts and names the others', () => {
  const content = parts([
    { type: 'text', text: 'look' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
    { type: 'image', source: { data: 'AAAA' } },
    { type: 'input_audio' },
    { type: 'tool_result' },
    'a bare string',
    null,
  ])
  assert.is(
    readContent(content),
    'look\n[image]\n[image]\n[input_audio]\n[tool_result]\na bare string',
  )
})

test('accepts a single part and a JSON string', () => {
  assert.is(readContent(parts({ type: 'text', text: 'one' })), 'one')
  assert.is(readContent(parts('two')), 'two')
})

test('replaces truncated JSON with a placeholder', () => {
  assert.is(readContent(parts([{ type: 'text', text: 'x' }]).slice(0, -3)), '[unreadable content]')
})

test.run()
