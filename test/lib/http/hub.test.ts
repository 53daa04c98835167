/** The event stream: bad cursors get a reset, good ones miss nothing, slow readers have a bounded buffer. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { PushSource } from '../../../lib/base/push-source.ts'
import { parseCursor, parseWatch } from '../../../lib/base/stream-cursor.ts'
import { Hub } from '../../../lib/http/hub.ts'
import { createTestClock } from '../../_clock.ts'

const hub = suite('hub')
const BOOT = '0badcafe'

type Seen = { id?: string; event: string; data: Record<string, unknown> }
const parse = (bytes: Buffer): Seen[] =>
  bytes
    .toString()
    .split('\n\n')
    .filter(Boolean)
    .map(block => {
      const field = (name: string) =>
        block
          .split('\n')
          .find(line => line.startsWith(`${name}: `))
          ?.slice(name.length + 2)
      const id = field('id')
      return {
        ...(id ? { id } : {}),
        event: field('event') ?? '',
        data: JSON.parse(field('data') ?? '{}'),
      }
    })

/** A receiver that is behind whenever it has something: each `next` takes one piece. */
const receive = (source: PushSource) => {
  const pieces: Buffer[] = []
  let isEnded = false
  let arrived = () => {}
  const flow = source({
    write(piece) {
      pieces.push(piece)
      arrived()
      return false
    },
    end() {
      isEnded = true
      arrived()
    },
    fail(error) {
      throw error
    },
  })
  let hasTaken = false
  return {
    /** Undefined: it has ended. */
    async next(): Promise<Buffer | undefined> {
      if (hasTaken) flow.resume()
      while (pieces.length === 0 && !isEnded)
        await new Promise<void>(resolve => {
          arrived = resolve
        })
      hasTaken = true
      return pieces.shift()
    },
    close: flow.close,
  }
}

const reader = (h: Hub, watch: string, after?: string, last?: string) => {
  const { next, close } = receive(h.stream({ watch: parseWatch(watch), after, lastEventId: last }))
  return { next: async () => parse((await next())!), stop: close }
}

hub('rejects a malformed cursor', () => {
  for (const text of [
    '',
    'x',
    '0badcafe',
    '0badcafe-',
    '0badcafe-x',
    '-1',
    '0badcafe--1',
    'ffffffff-1 ',
  ])
    assert.is(parseCursor(text), undefined)
  assert.equal(parseCursor('0badcafe-12'), { boot: BOOT, n: 12 })
  assert.equal([...parseWatch('../etc,a b,,ok')], [['ok', undefined]])
})

hub(
  'an unknown, future or foreign cursor gets a reset of every source, never silence',
  async () => {
    const h = new Hub(BOOT, createTestClock())
    h.publish('list', { type: 'row', data: {} })
    for (const after of ['nonsense', `${BOOT}-99`, 'ffffffff-1']) {
      const r = reader(h, 'abc', after)
      const batch = await r.next()
      const reset = batch.filter(f => f.event === 'reset').map(f => f.data.source)
      assert.equal(reset, ['list', 'inbox', 'gateway', 'notices', 'session:abc'])
      assert.is(batch.at(-1)!.event, 'ready')
      r.stop()
    }
    const own = reader(h, 'abc@nonsense')
    assert.equal(
      (await own.next()).map(f => [f.event, f.data.source]),
      [
        ['reset', 'session:abc'],
        ['ready', undefined],
      ],
    )
    own.stop()
    h.close()
  },
)

hub(
  'data that was written as JSON before is sent as it was written, to readers and not to taps of other sources',
  async () => {
    const h = new Hub(BOOT, createTestClock())
    const tapped: unknown[] = []
    h.tap('session:a', ({ data }) => tapped.push(data))
    const r = reader(h, 'a')
    await r.next()
    h.publish('session:a', { type: 'token', data: { text: 'key' }, json: '{"text":"***"}' })
    h.publish('session:b', { type: 'token', data: { text: 'other' } })
    assert.equal(
      (await r.next()).map(({ data }) => data),
      [{ source: 'session:a', n: 1, data: { text: '***' } }],
    )
    assert.equal(tapped, [{ text: 'key' }])
    r.stop()
    h.close()
  },
)

hub('replayed frames have no id, live frames do', async () => {
  const h = new Hub(BOOT, createTestClock())
  h.publish('session:a', { type: 'token', data: { text: '1' } })
  h.publish('session:b', { type: 'token', data: { text: '2' } })
  h.publish('session:a', { type: 'token', data: { text: '3' } })
  const r = reader(h, `a@${BOOT}-1`)
  const batch = await r.next()
  assert.equal(
    batch.map(f => [f.id, f.event, f.data.n]),
    [
      [undefined, 'token', 3],
      [`${BOOT}-3`, 'ready', 3],
    ],
  )
  h.publish('session:b', { type: 'token', data: {} })
  h.publish('session:a', { type: 'token', data: { text: '4' } }, { stream: 's', pos: 7 })
  assert.equal(await r.next(), [
    {
      id: `${BOOT}-5`,
      event: 'token',
      data: { source: 'session:a', n: 5, stream: 's', pos: 7, data: { text: '4' } },
    },
  ])
  r.stop()
  h.close()
})

hub('a source with its own cursor ignores `after` and honors Last-Event-ID', async () => {
  const h = new Hub(BOOT, createTestClock())
  for (let i = 0; i < 4; i++) h.publish('session:a', { type: 'token', data: { i } })
  const fresh = reader(h, `a@${BOOT}-1`, `${BOOT}-4`)
  assert.equal(
    (await fresh.next()).map(f => f.data.n),
    [2, 3, 4, 4],
  )
  const again = reader(h, `a@${BOOT}-1`, `${BOOT}-1`, `${BOOT}-3`)
  assert.equal(
    (await again.next()).map(f => f.data.n),
    [4, 4],
  )
  const now = reader(h, 'a')
  assert.equal(
    (await now.next()).map(f => f.event),
    ['ready'],
  )
  for (const each of [fresh, again, now]) each.stop()
  h.close()
})

hub('sends a reset when the log no longer has the events', async () => {
  const h = new Hub(BOOT, createTestClock())
  for (let i = 0; i < 3_000; i++) h.publish('list', { type: 'row', data: { i } })
  const r = reader(h, '', `${BOOT}-5`)
  assert.equal(
    (await r.next()).map(f => [f.event, f.data.source]),
    [
      ['reset', 'list'],
      ['ready', undefined],
    ],
  )
  r.stop()
  h.close()
})

hub('a dropped idle session log resets older cursors and serves newer ones', async () => {
  const clock = createTestClock()
  const h = new Hub(BOOT, clock)
  h.publish('session:a', { type: 'token', data: {} })
  await clock.advance(6 * 60_000)
  const old = reader(h, `a@${BOOT}-0`)
  assert.is((await old.next())[0]!.event, 'reset')
  const current = reader(h, `a@${BOOT}-1`)
  assert.equal(
    (await current.next()).map(f => f.event),
    ['ready'],
  )
  for (const each of [old, current]) each.stop()
  h.close()
})

hub(
  'the logs of all sessions together are bounded; the session that was silent longest loses its own',
  async () => {
    const h = new Hub(BOOT, createTestClock())
    const text = 'x'.repeat(100_000)
    h.publish('list', { type: 'row', data: {} })
    const positions = Array.from({ length: 300 }, (_, i) =>
      h.publish(`session:s${i}`, { type: 'token', data: { text } }),
    )
    const limit = 4 * 1024 * 1024
    assert.ok(h.logBytes() <= limit && h.logBytes() > limit - 200_000)
    const gone = reader(h, `s0@${BOOT}-${positions[0]! - 1}`)
    assert.is((await gone.next())[0]!.event, 'reset')
    const kept = reader(h, `s299@${BOOT}-${positions[299]! - 1}`)
    assert.is((await kept.next())[0]!.event, 'token')
    const list = reader(h, '', `${BOOT}-0`)
    assert.is((await list.next())[0]!.event, 'row')
    for (const each of [gone, kept, list]) each.stop()
    h.close()
  },
)

hub('the events of many sessions reset no reader of another one', async () => {
  const clock = createTestClock()
  const h = new Hub(BOOT, clock)
  const before = h.publish('session:quiet', { type: 'token', data: {} })
  const open = reader(h, 'quiet')
  assert.is((await open.next())[0]!.event, 'ready')
  const text = 'x'.repeat(900)
  for (let i = 0; i < 12_000; i++)
    h.publish(`session:s${i % 20}`, { type: 'token', data: { text } })
  await clock.advance(10_000)
  for (let event = ''; event !== 'ready'; ) {
    event = (await open.next()).at(-1)!.event
    assert.is.not(event, 'reset')
  }
  const back = reader(h, `quiet@${BOOT}-${before}`)
  const stale = reader(h, `quiet@${BOOT}-${before - 1}`)
  const dropped = reader(h, `s0@${BOOT}-${before + 1}`)
  assert.is((await back.next())[0]!.event, 'ready')
  assert.is((await stale.next())[0]!.event, 'reset')
  assert.is((await dropped.next())[0]!.event, 'reset')
  // Of older ones, only the highest number is known.
  for (let i = 0; i < 5_000; i++) h.publish(`session:t${i}`, { type: 'token', data: { text } })
  await clock.advance(5 * 60_000 + 10_000)
  const forgotten = reader(h, `quiet@${BOOT}-${before}`)
  assert.is((await forgotten.next())[0]!.event, 'reset')
  for (const each of [open, back, stale, dropped, forgotten]) each.stop()
  h.close()
})

hub('a slow reader has a bounded queue and is resumed or reset without a gap', async () => {
  const h = new Hub(BOOT, createTestClock())
  const r = reader(h, 'a')
  await r.next()
  const text = 'x'.repeat(1_000)
  for (let i = 1; i <= 600; i++) h.publish('session:a', { type: 'token', data: { i, text } })
  const seen: number[] = []
  for (let isReady = false; !isReady; ) {
    const batch = await r.next()
    assert.ok(JSON.stringify(batch).length < 256_000, 'no more than is promised waits at a time')
    for (const f of batch) if (f.event === 'token') seen.push((f.data.data as { i: number }).i)
    isReady = batch.at(-1)!.event === 'ready'
  }
  assert.equal(
    seen,
    Array.from({ length: 600 }, (_, i) => i + 1),
  )
  for (let i = 0; i < 4_000; i++) h.publish('session:a', { type: 'token', data: { i, text } })
  assert.is((await r.next())[0]!.event, 'reset')
  r.stop()
  h.close()
})

hub('readers are pinged, busy or not, and one that leaves at a ping ends', async () => {
  const clock = createTestClock()
  const h = new Hub(BOOT, clock)
  const [idle, busy] = [reader(h, 'b'), reader(h, 'a')]
  const leaving = reader(h, 'b')
  await Promise.all([idle.next(), busy.next(), leaving.next()])
  await clock.advance(10_000)
  h.publish('session:a', { type: 'token', data: 1 })
  assert.is((await idle.next())[0]?.event, 'ping')
  assert.equal([(await busy.next())[0]?.event, (await busy.next())[0]?.event], ['ping', 'token'])
  assert.is((await leaving.next())[0]?.event, 'ping')
  for (const each of [leaving, idle, busy]) each.stop()
  assert.is(h.readers(), 0)
  h.close()
  assert.equal(clock.waiting(), [])
})

hub(
  'an event that cannot be made, or that is larger than the list of the newest, costs no other event',
  async () => {
    const h = new Hub(BOOT, createTestClock())
    const r = reader(h, 'a')
    await r.next()
    const loop: Record<string, unknown> = {}
    loop.self = loop
    assert.throws(() => h.publish('session:a', { type: 'token', data: loop }))
    h.publish('session:a', { type: 'token', data: 'next' })
    const [token] = await r.next()
    assert.equal([token?.event, token?.data.n, token?.data.data], ['token', 1, 'next'])
    r.stop()
    h.close()

    const fresh = new Hub(BOOT, createTestClock())
    const other = reader(fresh, 'a')
    await other.next()
    fresh.publish('session:a', { type: 'token', data: 'x'.repeat(3 << 20) })
    fresh.publish('session:a', { type: 'token', data: 'after' })
    const events: string[] = []
    while (!events.includes('ready')) events.push(...(await other.next()).map(f => f.event))
    assert.ok(events.includes('reset'), 'it is told that it must fetch what it missed')
    other.stop()
    fresh.close()
  },
)

hub('events during catch-up follow it; lost ones are a reset', async () => {
  const h = new Hub(BOOT, createTestClock())
  const text = 'x'.repeat(10_000)
  const say = (count: number) => {
    for (let i = 0; i < count; i++) h.publish('session:a', { type: 'token', data: { text } })
  }
  say(30)
  const r = reader(h, `a@${BOOT}-0`)
  const ns: number[] = []
  const take = async () => {
    const batch = await r.next()
    for (const f of batch) if (f.event === 'token') ns.push(Number(f.data.n))
    return batch
  }
  await take()
  say(5)
  while (ns.length < 35) await take()
  assert.equal(
    ns,
    Array.from({ length: 35 }, (_, i) => i + 1),
  )
  r.stop()
  const slow = reader(h, `a@${BOOT}-0`)
  await slow.next()
  say(300)
  assert.is((await slow.next())[0]!.event, 'reset')
  slow.stop()
  h.close()
})

hub('what was published before the end is sent before it', async () => {
  const h = new Hub(BOOT, createTestClock())
  const frames = receive(h.stream({ watch: parseWatch('abc') }))
  assert.is(parse((await frames.next())!).at(-1)!.event, 'ready')
  const next = frames.next()
  h.publish('session:abc', { type: 'done', data: {} })
  h.close()
  assert.equal(
    parse((await next)!).map(({ event }) => event),
    ['done'],
  )
  assert.is(await frames.next(), undefined)
})

hub('a question is shown to a page whose person may answer it', () => {
  const h = new Hub(BOOT, createTestClock(), () => 'work')
  const question = {
    ...{ kind: 'clarify' as const, clarify_id: 'q', session_id: 'a', requested_at: 1 },
    ...{ question: 'Which?', choices_offered: [] },
  }
  const open = (mayRead: boolean, mayAnswer: boolean) =>
    receive(
      h.stream({
        watch: new Map(),
        accepts: profile => mayRead && profile === 'work',
        mayAnswer: ({ session_id }, profile) =>
          mayAnswer && session_id === 'a' && profile === 'work',
      }),
    )
  const others = [open(true, false), open(false, true)]
  assert.not.ok(h.isShown(question))
  const page = open(true, true)
  assert.ok(h.isShown(question))
  for (const { close } of [page, ...others]) close()
  assert.not.ok(h.isShown(question))
  h.close()
})

hub('random reconnects lose and duplicate nothing', async () => {
  const h = new Hub(BOOT, createTestClock())
  let random = 7
  const dice = (sides: number) => {
    random = (random * 1103515245 + 12345) % 2147483648
    return random % sides
  }
  const got: Record<string, number[]> = { 'session:a': [], 'session:b': [] }
  const sent: Record<string, number[]> = { 'session:a': [], 'session:b': [] }
  // What a client does: drop what it has, source by source, and remember the last id.
  const take = (f: Seen) => {
    const mine = got[String(f.data.source)]
    if (f.event === 'token' && Number(f.data.n) > (mine!.at(-1) ?? 0)) mine!.push(Number(f.data.n))
    if (f.id) cursor = f.id
  }
  let cursor = `${BOOT}-0`
  for (let round = 0; round < 1_000; round++) {
    const r = reader(h, `a@${BOOT}-0,b@${BOOT}-0`, undefined, cursor)
    for (let batches = dice(3); batches >= 0; batches--) {
      for (const f of await r.next()) take(f)
      for (let burst = dice(3); burst >= 0; burst--) {
        const source = dice(2) ? 'session:a' : 'session:b'
        sent[source]!.push(h.publish(source, { type: 'token', data: {} }))
      }
    }
    r.stop()
  }
  const last = reader(h, `a@${BOOT}-0,b@${BOOT}-0`, undefined, cursor)
  for (const f of await last.next()) take(f)
  assert.ok(JSON.stringify(got) === JSON.stringify(sent))
  last.stop()
  h.close()
})

hub.run()
