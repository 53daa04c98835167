/** Duplicates, snapshots and resets: every event is delivered once and in order. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { EventCursors, type SnapshotRequest } from '../../../public/stream/event-cursors.ts'
import type { Frame } from '../../../lib/schema/event.ts'
import { fakeRow, rowFrame } from '../_page.ts'

const make = () => {
  const got: number[] = []
  const holds: SnapshotRequest[] = []
  const sources = new EventCursors({
    deliver: frame => got.push(frame.n),
    refetch: (_, hold) => holds.push(hold),
  })
  const say = (n: number) => sources.receive(rowFrame(n, fakeRow('x')))
  const reset = () => sources.receive({ source: 'list', n: 0, type: 'reset', data: {} } as Frame)
  return { sources, got, holds, say, reset }
}

const test = suite('event cursors')

test('ignores events of unsubscribed sources', () => {
  const { got, say } = make()
  say(1)
  assert.equal(got, [])
})

test('frames wait for the snapshot; what it contains is dropped', () => {
  const { sources, got, say } = make()
  const hold = sources.beginSnapshot('list')
  say(3)
  say(4)
  say(5)
  assert.equal(got, [])
  sources.completeSnapshot(hold, 'a-4')
  assert.equal(got, [5])
  assert.is(sources.cursor('list'), 'a-5')
})

test('doubles are dropped by number', () => {
  const { sources, got, say } = make()
  sources.completeSnapshot(sources.beginSnapshot('list'), 'a-1')
  for (const n of [2, 2, 3, 2, 3, 4]) say(n)
  assert.equal(got, [2, 3, 4])
})

test('a reset requests a snapshot, also when numbering restarts', () => {
  const { sources, got, holds, say, reset } = make()
  sources.completeSnapshot(sources.beginSnapshot('list'), 'a-100')
  reset()
  say(3)
  assert.equal(got, [])
  sources.completeSnapshot(holds[0]!, 'b-2')
  assert.equal(got, [3])
  assert.is(sources.cursor('list'), 'b-3')
})

test('a later reset makes the snapshot on its way void', () => {
  const { sources, got, holds, say, reset } = make()
  const first = sources.beginSnapshot('list')
  reset()
  assert.not.ok(sources.isCurrent(first))
  sources.completeSnapshot(first, 'a-1')
  say(9)
  assert.equal(got, [])
  sources.completeSnapshot(holds[0]!, 'a-8')
  assert.equal(got, [9])
})

test('1 000 random cuts: what is rendered equals the log', () => {
  let seed = 7
  const random = (below: number) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
    return seed % below
  }
  const { sources, got, say } = make()
  sources.completeSnapshot(sources.beginSnapshot('list'), 'a-0')
  let sent = 0
  for (let cut = 0; cut < 1_000; cut += 1) {
    // After each cut the service repeats from some number the page already had.
    const from = Math.max(0, sent - random(5))
    sent += random(4)
    for (let n = from + 1; n <= sent; n += 1) say(n)
  }
  assert.equal(
    got,
    Array.from({ length: sent }, (_, index) => index + 1),
  )
})

test.run()
