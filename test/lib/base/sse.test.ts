/** The text of server-sent events, and heartbeats between them. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { comment, frame, withHeartbeats } from '../../../lib/base/sse.ts'

const test = suite('server-sent events')

test('a line break in a field cannot begin another field', () => {
  assert.is(
    frame('a\nid: 9', 'b\r\ndata: c', 'd\n\0e'),
    'id: d e\nevent: a id: 9\ndata: b data: c\n\n',
  )
  assert.is(comment('a\n\ndata: b'), ': a data: b\n\n')
})

test('a source that fails or ends does so for its reader', async () => {
  const read = async (source: AsyncGenerator<string>) => {
    const items: string[] = []
    for await (const item of withHeartbeats(source)) items.push(item)
    return items
  }
  async function* items(error?: Error) {
    yield 'a'
    if (error) throw error
    yield 'b'
  }
  assert.equal(await read(items()), ['a', 'b'])
  const failure = await read(items(new Error('broken'))).catch((error: unknown) => error)
  assert.match(String(failure), /broken/)
})

test('a reader that stops early ends the source', async () => {
  let hasEnded = false
  async function* endless() {
    try {
      while (true) yield 'a'
    } finally {
      hasEnded = true
    }
  }
  for await (const item of withHeartbeats(endless())) {
    assert.is(item, 'a')
    break
  }
  assert.ok(hasEnded)
})

test.run()
