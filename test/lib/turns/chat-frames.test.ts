/** The chat stream for many readers: the same bytes for all of them, rendered once. */
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { emptyUsage } from '../../../lib/schema/usage.ts'
import { chatFrames } from '../../../lib/turns/chat-frames.ts'
import { EventLog } from '../../../lib/turns/event-log.ts'
import { tempDir } from '../../_temp-dir.ts'

const dir = tempDir('chat-frames')
const test = suite('chat frames')

const header = { session_id: 'abc', stream_id: 'f'.repeat(32), at: 1 }
const READERS = 30

const open = (name: string) => {
  const log = new EventLog(join(dir, name), header)
  const state = { renders: 0 }
  const whole = [Buffer.from('{"messages":'), Buffer.alloc(1 << 20, '1'), Buffer.from('}')]
  const render = async () => {
    state.renders += 1
    return whole
  }
  const read = (after = 0) => chatFrames(log, after, new AbortController().signal, render)
  return { log, state, whole, read }
}

const rest = async (reader: AsyncGenerator<string | Buffer>): Promise<(string | Buffer)[]> => {
  const all: (string | Buffer)[] = []
  for await (const part of reader) all.push(part)
  return all
}

test('renders the session of `done` once for concurrent readers', async () => {
  const { log, state, whole, read } = open('one.jsonl')
  log.append({ type: 'token', data: { text: 'a', message_id: 'm2' } })
  const readers = Array.from({ length: READERS }, () => rest(read()))
  log.append({ type: 'done', data: { usage: emptyUsage, message_ids: [] } } as never)
  log.append({ type: 'stream_end', data: { session_id: 'abc' } })
  log.close()
  const all = await Promise.all(readers)
  assert.is(state.renders, 1)
  for (const parts of all) for (const part of whole) assert.ok(parts.includes(part))
  const text = Buffer.concat(all[0]!.map(part => Buffer.from(part))).toString()
  const [token, done, end] = text.trimEnd().split('\n\n')
  assert.is(token, 'id: 1\nevent: token\ndata: {"text":"a","message_id":"m2"}')
  const { usage } = JSON.parse(done!.slice(done!.indexOf('data: ') + 6))
  assert.equal(usage, emptyUsage)
  assert.match(end!, /event: stream_end/)
  await rest(read(1))
  assert.is(state.renders, 2, 'nothing is kept for a reader who comes later')
})

test('a reader that stops early releases the bytes', async () => {
  const { log, state, read } = open('two.jsonl')
  log.append({ type: 'done', data: { usage: emptyUsage, message_ids: [] } } as never)
  log.close()
  const one = read()
  await one.next()
  await one.next()
  await one.return(undefined)
  await rest(read())
  assert.is(state.renders, 2)
})

test('a side question has no session to show', async () => {
  const { log, state, read } = open('three.jsonl')
  const data = { usage: emptyUsage, message_ids: [], ephemeral: true, answer: 'yes' }
  log.append({ type: 'done', data } as never)
  log.close()
  const [frame] = await rest(read())
  assert.match(String(frame), /"answer":"yes"/)
  assert.is(state.renders, 0)
})

test.run()
