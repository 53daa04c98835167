/** The event log of a turn: only durable events are read, any reader resumes exactly, a torn tail loses nothing published. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTestClock } from '../../_clock.ts'
import type { TurnEvent } from '../../../lib/schema/event.ts'
import {
  EventLog,
  EventLogs,
  type LoggedEvent,
  readLiveFile,
} from '../../../lib/turns/event-log.ts'
import { tempDir } from '../../_temp-dir.ts'

const dir = tempDir('event-log')
const log = suite('event log')

let count = 0
const header = { session_id: 'abc', stream_id: 'f'.repeat(32), at: 1 }
const fresh = (
  onAppend?: (event: TurnEvent, pos: number, json: string) => void,
  options?: { mayMove: boolean },
) => new EventLog(join(dir, `${++count}.jsonl`), header, onAppend, options)
const token = (text: string): TurnEvent => ({ type: 'token', data: { text, message_id: 'm2' } })
const ever = new AbortController().signal

const collect = async (events: AsyncGenerator<LoggedEvent>, until = Number.POSITIVE_INFINITY) => {
  const all: LoggedEvent[] = []
  for await (const event of events) {
    all.push(event)
    if (all.length >= until) break
  }
  return all
}

log('an event is on disk before it is published, as the text that is published', () => {
  const l = fresh((event, pos, json) => {
    const line = readFileSync(l.path, 'utf8').trimEnd().split('\n')[pos]
    assert.is(line, `{"pos":${pos},"type":"${event.type}","data":${json}}`)
  })
  l.append(token('a "b"\n'))
  l.append(token('b'))
  l.close()
  l.append(token('after the end'))
  assert.is(l.position(), 2)
})

log('reads from any position', async () => {
  const l = fresh()
  for (let i = 1; i <= 3_000; i++) l.append(token(`${i}`))
  l.close()
  for (const after of [0, 1, 17, 1_499, 2_999, 3_000, 9_999]) {
    const all = await collect(l.read(after, ever))
    // A position that it never had, for example of the log before a restart: everything.
    // At its end, the last one: it says that this is the end.
    const known = after > 3_000 ? 0 : Math.min(after, 2_999)
    assert.is(all.length, 3_000 - known)
    assert.ok(all.every(({ pos, data }, i) => pos === known + i + 1 && 'text' in data))
  }
})

log(
  'of turns that ended nothing is left after five minutes: no log, no file, no timer',
  async () => {
    const clock = createTestClock()
    const logs = new EventLogs(clock)
    const ended = Array.from({ length: 50 }, (_, n) => {
      const stream_id = `${n}`.padStart(32, '0')
      const one = new EventLog(join(dir, `${stream_id}.jsonl`), { ...header, stream_id })
      for (let event = 0; event < 100; event++) one.append(token(`${event}`))
      logs.put(one)
      logs.retire(one)
      return one
    })
    await clock.advance(5 * 60_000 - 1)
    for (const { stream_id } of ended)
      assert.is((await collect(logs.get(stream_id).read(0, ever))).length, 100)
    await clock.advance(1)
    assert.equal(clock.waiting(), [])
    for (const { stream_id, path } of ended) {
      assert.throws(() => logs.get(stream_id), /stream not found/)
      assert.not.ok(existsSync(path))
    }
  },
)

const said = (id: string): TurnEvent => ({
  type: 'message',
  data: { message: { id, role: 'assistant', content: id } },
})

log('positions mean the same on a machine that has the messages, and not the log', async () => {
  const here = fresh(undefined, { mayMove: true })
  for (const id of ['m1', 'm2', 'm3']) {
    here.append(token(`before ${id}`))
    here.append(said(id))
  }
  here.append(token('unfinished'))
  const all = await collect(here.read(0, AbortSignal.timeout(50)))
  const there = fresh(undefined, { mayMove: true })
  for (const id of ['m1', 'm2', 'm3']) there.append(said(id))
  there.skipUnknown(0)
  there.append(token('again'))
  there.append(said('m4'))
  there.close()
  const idOf = ({ type, data }: LoggedEvent) =>
    type === 'message' ? (data as { message: { id: string } }).message.id : type
  for (const [at, { pos }] of all.entries()) {
    const unseen = all.slice(at + 1).filter(({ type }) => type === 'message')
    assert.equal((await collect(there.read(pos, ever))).map(idOf), [
      ...unseen.map(idOf),
      'token',
      'm4',
    ])
  }
})

log('events that could not be written are read until the log is removed', async () => {
  const l = fresh()
  const following = collect(l.read(0, ever))
  l.append(token('written'))
  l.emitUnsaved(token('not written'))
  l.close()
  for (const all of [await following, await collect(l.read(0, ever))])
    assert.equal(
      all.map(({ pos }) => pos),
      [1, 2],
    )
  assert.is(readLiveFile(l.path)!.events.length, 1)
  l.remove()
  assert.not.ok(existsSync(l.path))
})

log('a reader follows new events and ends when aborted', async () => {
  const l = fresh()
  const stop = new AbortController()
  const cut = collect(l.read(0, stop.signal))
  const first = collect(l.read(0, stop.signal), 3)
  for (const text of ['a', 'b', 'c']) l.append(token(text))
  assert.is((await first).length, 3)
  stop.abort()
  assert.is((await cut).length, 3)
  l.close()
})

log('two readers, reconnected a thousand times, see every event once', async () => {
  const l = fresh()
  const seen: number[][] = [[], []]
  const reader = async (mine: number[], stride: number) => {
    while ((mine.at(-1) ?? 0) < 2_000)
      for (const { pos } of await collect(l.read(mine.at(-1) ?? 0, ever), stride)) mine.push(pos)
  }
  const both = Promise.all([reader(seen[0]!, 2), reader(seen[1]!, 5)])
  for (let i = 1; i <= 2_000; i++) {
    l.append(token(`${i}`))
    if (i % 100 === 0) await new Promise(resolve => setImmediate(resolve))
  }
  await both
  for (const mine of seen) assert.ok(mine.every((pos, i) => pos === i + 1))
  l.close()
})

log('a torn tail is ignored and a log continues at its position; a torn header is none', () => {
  const l = fresh()
  l.append(token('a'))
  l.close()
  appendFileSync(l.path, '{"pos":2,"type":"tok')
  assert.is(readLiveFile(l.path)!.events.length, 1)
  const again = new EventLog(l.path, header)
  assert.is(again.append(token('b')), 2)
  again.close()
  assert.equal(
    readLiveFile(l.path)!.events.map(event => event.pos),
    [1, 2],
  )
  appendFileSync(join(dir, 'torn.jsonl'), '{"v":1,"sess')
  assert.is(readLiveFile(join(dir, 'torn.jsonl')), undefined)
})

log.run()
