/** What was just read of sessions is kept within bounds. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createRecentReads } from '../../../lib/sessions/recent-reads.ts'
import { createTestClock } from '../../_clock.ts'

const test = suite('sessions/recent reads')

const createCounter = () => {
  const made: string[] = []
  return {
    made,
    make: (name: string) => () => {
      made.push(name)
      return name
    },
  }
}

test('a value is made again when its version is another', () => {
  const recent = createRecentReads({ clock: createTestClock() })
  const { made, make } = createCounter()
  assert.is(
    recent.read('a', '1', make('one'), () => 10),
    'one',
  )
  assert.is(
    recent.read('a', '1', make('never'), () => 10),
    'one',
  )
  assert.is(
    recent.read('a', '2', make('two'), () => 10),
    'two',
  )
  assert.is(
    recent.read('a', '1', make('three'), () => 10),
    'three',
    'a former version is not kept',
  )
  assert.equal(made, ['one', 'two', 'three'])
})

test('the least recently used values leave when the bytes are too many, and large ones are never kept', () => {
  const recent = createRecentReads({ clock: createTestClock(), maxBytes: 100 })
  const { made, make } = createCounter()
  const read = (name: string, bytes = 25) => recent.read(name, '1', make(name), () => bytes)
  for (const name of ['a', 'b', 'c', 'd', 'a', 'e']) read(name)
  read('a')
  assert.equal(made, ['a', 'b', 'c', 'd', 'e'], 'b left, a was used')
  read('b')
  assert.equal(made.at(-1), 'b')
  read('large', 26)
  read('large', 26)
  assert.equal(made.slice(-2), ['large', 'large'])
})

test('nothing is kept when nothing was read for a while', async () => {
  const clock = createTestClock()
  const recent = createRecentReads({ clock, keptMs: 10 })
  const { made, make } = createCounter()
  recent.read('a', '1', make('a'), () => 1)
  await clock.advance(9)
  recent.read('a', '1', make('a'), () => 1)
  await clock.advance(9)
  recent.read('a', '1', make('a'), () => 1)
  assert.equal(made, ['a'], 'a read keeps it')
  await clock.advance(10)
  assert.equal(clock.waiting(), [])
  recent.read('a', '1', make('a'), () => 1)
  assert.equal(made, ['a', 'a'])
})

test('a failed read keeps nothing', () => {
  const recent = createRecentReads({ clock: createTestClock() })
  const fail = () => {
    throw new Error('gone')
  }
  assert.throws(() => recent.read('a', '1', fail, () => 1), /gone/)
  assert.is(
    recent.read(
      'a',
      '1',
      () => 'there',
      () => 1,
    ),
    'there',
  )
})

test.run()
