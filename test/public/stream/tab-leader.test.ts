/** Tabs sharing one connection: leader election, delivery, and failover. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Stream } from '../../../public/stream/stream.ts'
import { type ChannelLike, TabLeader, type LocksLike } from '../../../public/stream/tab-leader.ts'
import { FRAME_TYPES } from '../../../public/features/messages/chat-reducer.ts'
import type { Frame } from '../../../lib/schema/event.ts'
import { createTestClock } from '../../_clock.ts'
import { fakeRow, fakeSource, type FakeSource, rowFrame, settle } from '../_page.ts'

const fakeChannels = () => {
  const ends = new Map<object, (event: { data: unknown }) => void>()
  return (): ChannelLike => {
    const end: ChannelLike = {
      postMessage(data) {
        for (const [other, hear] of [...ends])
          if (other !== end) hear({ data: structuredClone(data) })
      },
      addEventListener: (_, listener) => void ends.set(end, listener),
      close: () => void ends.delete(end),
    }
    return end
  }
}

/** Web Locks for one name: a queue, theft, abort while waiting. */
const fakeLocks = (): LocksLike => {
  type Wait = { granted: () => Promise<void>; done: (error?: Error) => void }
  let holder: Wait | null = null
  let queue: Wait[] = []
  const grant = (wait: Wait) => {
    holder = wait
    void wait.granted().then(() => {
      if (holder !== wait) return
      holder = null
      wait.done()
      const next = queue.shift()
      if (next) grant(next)
    })
  }
  return {
    request: (_, { steal, signal }, granted) =>
      new Promise((resolve, reject) => {
        const wait: Wait = { granted, done: error => (error ? reject(error) : resolve(undefined)) }
        signal?.addEventListener('abort', () => {
          if (!queue.includes(wait)) return
          queue = queue.filter(other => other !== wait)
          wait.done(new Error('aborted'))
        })
        if (steal) {
          const robbed = holder
          grant(wait)
          robbed?.done(new Error('stolen'))
        } else if (holder) queue.push(wait)
        else grant(wait)
      }),
  }
}

const browser = ({ locked = true } = {}) => {
  const clock = createTestClock()
  const opened: FakeSource[] = []
  const channel = fakeChannels()
  const locks = fakeLocks()
  const open = (tab: string, wanted: Record<string, string> = {}, list = 'a-5') => {
    const got: Frame[] = []
    const states: string[] = []
    const want = new Map(Object.entries(wanted))
    const tabs = new TabLeader({
      tab,
      name: 'events',
      stream: on =>
        new Stream({
          ...on,
          types: FRAME_TYPES,
          open(query) {
            const source = fakeSource(query)
            opened.push(source)
            return source
          },
          beforeRetry: async () => {},
          clock,
        }),
      channel: locked ? channel() : null,
      locks: locked ? locks : null,
      subscriptions: () => ({ positions: want, list }),
      visible: () => true,
      onFrame: frame => got.push(frame),
      onState: state => states.push(state.kind),
      clock,
    })
    tabs.start()
    return { tabs, got, states, want }
  }
  const wait = async (ms: number) => {
    await clock.advance(ms)
    await settle()
  }
  return { open, opened, wait, last: () => opened.at(-1)! }
}

const test = suite('tab leader')

test('without locks every tab listens for itself', async () => {
  const { open, opened } = browser({ locked: false })
  open('1')
  open('2')
  assert.is(opened.length, 2)
})

test('elects one leader, delivers to all tabs, and watches the union of their subscriptions', async () => {
  const { open, opened, wait, last } = browser()
  const one = open('1', { s1: 'a-4' })
  await settle()
  await wait(100)
  const two = open('2', { s1: 'a-9', s2: 'a-8' })
  await settle()
  assert.ok(one.tabs.isLeader())
  assert.not.ok(two.tabs.isLeader())
  assert.is(last().query.watch, 's1@a-4,s2@a-8')
  last().say('ready', {}, 'a-9')
  assert.is(two.states.at(-1), 'live')
  const count = opened.length
  last().say('row', { source: 'list', n: 10, data: { row: fakeRow('x') } }, 'a-10')
  assert.equal(one.got, [rowFrame(10, fakeRow('x'))])
  assert.equal(two.got, one.got)
  last().say('ping')
  assert.is(opened.length, count, 'a follower that answers a ping changes nothing')
})

test('a new leader collects the subscriptions of the other tabs', async () => {
  const { open, wait, last } = browser()
  const one = open('1')
  await settle()
  await wait(100)
  const two = open('2', { s2: 'a-7' }, 'a-12')
  open('3', { s3: 'a-6' }, 'a-11')
  await settle()
  one.tabs.close()
  await settle()
  await wait(100)
  assert.ok(two.tabs.isLeader())
  assert.equal(last().query, { watch: 's2@a-7,s3@a-6', after: 'a-11' })
})

test('a silent leader loses the lock to a visible tab', async () => {
  const { open, opened, wait } = browser()
  const one = open('1')
  await settle()
  await wait(100)
  opened[0]!.say('ready', {}, 'a-5')
  const two = open('2')
  await settle()
  await wait(14_000)
  opened[0]!.say('ping')
  await wait(14_000)
  assert.ok(one.tabs.isLeader())
  await wait(1_001)
  await wait(100)
  assert.ok(two.tabs.isLeader())
  assert.not.ok(one.tabs.isLeader())
  assert.ok(opened[0]!.closed)
  assert.not.ok(opened.at(-1)!.closed)
})

test.run()
