/** The event log of a turn: only durable events are read, any reader resumes exactly, a torn tail loses nothing published. */
import { appendFileSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { TurnEvent } from '../../../lib/schema/event.ts'
import {
  createEventLog,
  type LoggedEvent,
  readLiveFile,
  toReaders,
} from '../../../lib/turns/event-log.ts'

const dir = mkdtempSync(join(tmpdir(), 'event-log-'))
const log = suite('event log')
log.after(() => rmSync(dir, { recursive: true }))

let count = 0
const header = { session_id: 'abc', stream_id: 'f'.repeat(32), at: 1 }
const fresh = (onAppend?: (event: TurnEvent, pos: number) => void) => {
  count += 1
  return createEventLog(join(dir, `${count}.jsonl`), header, onAppend)
}
const token = (text: string): TurnEvent => ({ type: 'token', data: { text, message_id: 'm2' } })

const collect = async (events: AsyncGenerator<LoggedEvent>, until = Number.POSITIVE_INFINITY) => {
  const all: LoggedEvent[] = []
  for await (const event of events) {
    all.push(event)
    if (all.length >= until) break
  }
  return all
}

log('an event is on disk before it is published', () => {
  const received: string[] = []
  const l = fresh((_, pos) => {
    const lines = readFileSync(l.path, 'utf8').trimEnd().split('\n')
    received.push(`${pos}:${lines.length}`)
  })
  l.append(token('a'))
  l.append(token('b'))
  assert.equal(received, ['1:2', '2:3'])
  l.close()
})

log('the readers of a session get the text that is in the file', () => {
  const sent: unknown[] = []
  const hub = { publish: (...given: unknown[]) => sent.push(given) }
  const l = createEventLog(join(dir, 'sent.jsonl'), header, toReaders(hub, header))
  const event = token('a "b"\n')
  l.append(event)
  const json = '{"text":"a \\"b\\"\\n","message_id":"m2"}'
  assert.equal(sent, [['session:abc', { ...event, json }, { stream: header.stream_id, pos: 1 }]])
  assert.ok(readFileSync(l.path, 'utf8').endsWith(`{"pos":1,"type":"token","data":${json}}\n`))
  l.close()
})

log('appends nothing to a closed log', () => {
  const l = fresh()
  l.append(token('a'))
  l.close()
  l.append(token('b'))
  assert.is(l.position(), 1)
  assert.is(readLiveFile(l.path)!.events.length, 1)
})

log('reads from any position, including events dropped from memory', async () => {
  const l = fresh()
  for (let i = 1; i <= 3_000; i++) l.append(token(`${i}`))
  l.close()
  for (const after of [0, 1, 17, 1_499, 2_500, 2_999, 3_000, 9_999]) {
    const all = await collect(l.read(after, new AbortController().signal))
    // A position that it never had, for example of the log before a restart: everything.
    const known = after > 3_000 ? 0 : after
    assert.is(all.length, 3_000 - known)
    assert.ok(all.every((event, i) => event.pos === known + i + 1))
    assert.ok(all.every(event => (event.data as { text: string }).text === `${event.pos}`))
  }
})

log('the log of an ended turn holds no events in memory, once its readers have them', async () => {
  const l = fresh()
  for (let i = 1; i <= 200; i++) l.append(token(`${i} ${'x'.repeat(1_000)}`))
  const reader = l.read(150, new AbortController().signal)
  await reader.next()
  assert.ok(l.heldBytes() > 100_000)
  l.close()
  assert.is((await collect(reader)).length, 49)
  assert.is(l.heldBytes(), 0)
  assert.is((await collect(l.read(0, new AbortController().signal))).length, 200)
  assert.is(l.heldBytes(), 0)
})

log('events that could not be written stay in memory until the log is removed', async () => {
  const l = fresh()
  l.append(token('written'))
  l.emitUnsaved(token('not written'))
  l.close()
  assert.is((await collect(l.read(0, new AbortController().signal))).length, 2)
  assert.is((await collect(l.read(0, new AbortController().signal))).length, 2)
  l.remove()
  assert.is(l.heldBytes(), 0)
})

log('a reader follows new events and ends when aborted', async () => {
  const l = fresh()
  const stop = new AbortController()
  const first = collect(l.read(0, stop.signal), 3)
  const cut = collect(l.read(0, stop.signal))
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
    while ((mine.at(-1) ?? 0) < 2_000) {
      for (const event of await collect(
        l.read(mine.at(-1) ?? 0, new AbortController().signal),
        stride,
      ))
        mine.push(event.pos)
    }
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

log(
  'ignores a torn tail, rejects a torn header, and continues an existing log at its position',
  () => {
    const l = fresh()
    l.append(token('a'))
    l.close()
    appendFileSync(l.path, '{"pos":2,"type":"tok')
    assert.equal(
      readLiveFile(l.path)!.events.map(event => event.pos),
      [1],
    )
    const again = createEventLog(l.path, header)
    assert.is(again.append(token('b')), 2)
    again.close()
    assert.equal(
      readLiveFile(l.path)!.events.map(event => event.pos),
      [1, 2],
    )
    appendFileSync(join(dir, 'torn.jsonl'), '{"v":1,"sess')
    assert.is(readLiveFile(join(dir, 'torn.jsonl')), undefined)
    again.remove()
    assert.not.ok(existsSync(l.path))
  },
)

log.run()
