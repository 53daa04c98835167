/** Texts that are kept lie beside each other, and keep only each other's memory. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { TextPool } from '../../../lib/base/text-pool.ts'

const test = suite('text pool')

test('texts of any length and letters come back as they were, whatever follows them', () => {
  const pool = new TextPool()
  const texts = ['', 'a', 'ü€😀'.repeat(50), 'x'.repeat(30_000), '\ud800', 'y'.repeat(200_000)]
  const all = Array.from({ length: 20 }, () => texts).flat()
  const made = all.map(text => pool.encode(text))
  assert.equal(
    made.map(bytes => bytes.equals(Buffer.from(all[made.indexOf(bytes)] ?? ''))),
    all.map(() => true),
  )
})

test('a kept text keeps no more than the texts of its own pool', () => {
  const pool = new TextPool()
  const kept: Buffer[] = []
  for (let i = 0; i < 1_000; i++) {
    kept.push(pool.encode(`a frame of an event ${i} `.repeat(10)))
    // What others allocate in between, in the pool of Node.
    Buffer.from('something else '.repeat(500))
  }
  const bytes = kept.reduce((sum, each) => sum + each.length, 0)
  const held = [...new Set(kept.map(({ buffer }) => buffer))]
  const heldBytes = held.reduce((sum, { byteLength }) => sum + byteLength, 0)
  assert.ok(heldBytes < bytes * 1.5 + 64 * 1024, `${heldBytes} for ${bytes}`)
})

test.run()
