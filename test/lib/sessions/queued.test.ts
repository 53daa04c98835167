/** The queue in a session's record. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { queuedOf, queuedPatch, withoutQueued } from '../../../lib/sessions/queued.ts'

const test = suite('queued messages')
const item = (id: string) => ({ id, text: id, attachments: [], at: 1 })
const meta = (queued: unknown) => ({ queued }) as Parameters<typeof queuedOf>[0]

test('skips entries that do not parse', () => {
  assert.equal(queuedOf(meta([item('a'), { id: 'b' }, null, 'x'])), [item('a')])
  assert.equal(queuedOf(meta('not a list')), [])
  assert.equal(queuedOf(meta(undefined)), [])
})

test('an empty queue is stored as null', () => {
  assert.equal(queuedPatch([]), { queued: null })
  assert.equal(queuedPatch([item('a')]), { queued: [item('a')] })
})

test('removes one message, and rejects one that is no longer queued', () => {
  assert.equal(withoutQueued(meta([item('a'), item('b')]), 'a'), { queued: [item('b')] })
  assert.throws(() => withoutQueued(meta([item('a')]), 'b'), /sent or removed/)
})

test.run()
