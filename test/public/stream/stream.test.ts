/** Event stream: resuming, changing subscriptions, dead connections. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  createStream,
  earlier,
  parseCursor,
  type StreamState,
} from '../../../public/stream/stream.ts'
import { FRAME_TYPES } from '../../../public/features/chat/chat-reducer.ts'
import type { Frame } from '../../../lib/schema/event.ts'
import { createTestClock } from '../../_clock.ts'
import { fakeSource, type FakeSource, settle } from '../_page.ts'

const connection = () => {
  const clock = createTestClock()
  const opened: FakeSource[] = []
  const frames: Frame[] = []
  const states: StreamState['kind'][] = []
  const stream = createStream({
    types: FRAME_TYPES,
    open(query) {
      const source = fakeSource(query)
      opened.push(source)
      return source
    },
    onFrame: frame => frames.push(frame),
    onPing: () => {},
    onState: state => states.push(state.kind),
    beforeRetry: async () => {},
    clock,
  })
  return { clock, opened, frames, states, stream, last: () => opened.at(-1)! }
}

const test = suite('stream')

test('a cursor that is none', () => {
  for (const text of [undefined, '', 'x', '12', 'abc-', 'abc-1x']) {
    assert.is(parseCursor(text), undefined)
  }
  assert.equal(parseCursor('abcdef01-7'), { boot: 'abcdef01', n: 7 })
})

test('the earlier of two cursors, within one boot only', () => {
  assert.is(earlier('a-5', 'a-3'), 'a-3')
  assert.is(earlier('a-3', 'a-5'), 'a-3')
  assert.is(earlier('a-5', 'b-3'), 'a-5')
  assert.is(earlier('', 'b-3'), '')
})

test('begins at the cursor of the list and of each session', () => {
  const { stream, last } = connection()
  stream.watch(new Map([['s1', 'a-4']]))
  stream.start('a-5')
  assert.equal(last().query, { watch: 's1@a-4', after: 'a-5' })
})

test('frames of the opening batch move no cursor; ready does', async () => {
  const { stream, last, clock, opened } = connection()
  stream.watch(new Map([['s1', 'a-4']]))
  stream.start('a-5')
  last().say('row', { source: 'list', n: 7, data: {} })
  last().say('error')
  await clock.advance(1_000)
  await settle()
  assert.is(opened.length, 2)
  assert.is(last().query.after, 'a-5')
  last().say('ready', {}, 'a-9')
  last().say('token', { source: 'session:s1', n: 10, data: {} }, 'a-10')
  last().say('error')
  await clock.advance(1_000)
  await settle()
  assert.equal(last().query, { watch: 's1@a-10', after: 'a-10' })
})

test('the name of the event is the type of the frame', () => {
  const { stream, last, frames } = connection()
  stream.start('a-5')
  last().say('gone', { source: 'list', n: 6, data: { session_id: 'x' } })
  assert.equal(frames, [{ source: 'list', n: 6, data: { session_id: 'x' }, type: 'gone' }])
})

test('a change of subscriptions opens the next connection before closing the last', () => {
  const { stream, opened, frames } = connection()
  stream.start('a-5')
  opened[0]!.say('ready', {}, 'a-5')
  stream.watch(new Map([['s1', 'a-3']]))
  assert.is(opened.length, 2)
  assert.is(opened[1]!.query.watch, 's1@a-3')
  opened[0]!.say('row', { source: 'list', n: 6, data: {} }, 'a-6')
  assert.not.ok(opened[0]!.closed)
  opened[1]!.say('ready', {}, 'a-6')
  assert.ok(opened[0]!.closed)
  opened[0]!.say('row', { source: 'list', n: 7, data: {} }, 'a-7')
  assert.is(frames.length, 1, 'a closed connection says nothing')
})

test('what is carried already needs no new connection', () => {
  const { stream, opened } = connection()
  stream.watch(new Map([['s1', 'a-3']]))
  stream.start('a-5')
  opened[0]!.say('ready', {}, 'a-9')
  stream.watch(new Map([['s1', 'a-8']]), 'a-7')
  stream.watch(new Map([['s1', 'a-3']]), 'a-5')
  assert.is(opened.length, 1)
  stream.watch(new Map([['s1', 'a-2']]))
  assert.is(opened.length, 2, 'from before it was carried')
})

test('treats a connection without pings as dead', async () => {
  const { stream, last, clock, states } = connection()
  stream.start('a-5')
  last().say('ready', {}, 'a-5')
  await clock.advance(15_000)
  last().say('ping')
  await clock.advance(15_000)
  assert.equal(states.at(-1), 'live')
  await clock.advance(7_000)
  assert.equal(states.at(-1), 'waiting')
  assert.ok(last().closed)
})

test('pauses grow, a good connection forgets them, retryNow skips them', async () => {
  const { stream, last, clock, opened } = connection()
  stream.start('a-5')
  for (const pauseMs of [1_000, 2_000, 4_000]) {
    const before = opened.length
    last().say('error')
    await clock.advance(pauseMs - 1)
    await settle()
    assert.is(opened.length, before)
    await clock.advance(1)
    await settle()
    assert.is(opened.length, before + 1)
  }
  last().say('error')
  stream.retryNow()
  await settle()
  assert.is(opened.length, 5)
  stream.retryNow()
  await settle()
  assert.is(opened.length, 5, 'nothing while one is on its way')
  last().say('ready', {}, 'a-5')
  last().say('error')
  await clock.advance(1_000)
  await settle()
  assert.is(opened.length, 6)
})

test('close ends everything, also a retry on its way', async () => {
  const { stream, last, clock, opened, states } = connection()
  stream.start('a-5')
  last().say('error')
  stream.close()
  await clock.advance(60_000)
  await settle()
  assert.is(opened.length, 1)
  assert.is(states.at(-1), 'idle')
})

test.run()
