/** The message history of a host session: content, row mapping, lineage and copies after compaction. */
import { rmSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { readContent } from '../../../../lib/sessions/host-db/content.ts'
import {
  isCompacted,
  readLineage,
  readLineageTip,
  readMessages,
  withoutCopies,
} from '../../../../lib/sessions/host-db/read-messages.ts'
import { readRow } from '../../../../lib/sessions/host-db/session-rows.ts'
import { mirrorUsage } from '../../../../lib/sessions/host-db/usage-mirror.ts'
import type { Message } from '../../../../lib/schema/message.ts'
import {
  addMessage,
  addSession,
  createStateDb,
  listContent,
  type StateDb,
} from '../../../_state-db.ts'
import { tempDir } from '../../../_temp-dir.ts'

const message = (content: string, id = content): Message => ({ id, role: 'user', content })
const texts = (messages: readonly Message[]) => messages.map(({ content }) => content)

const test = suite<{ dir: string; db: StateDb }>('host-db messages')
test.before.each(context => {
  context.dir = tempDir('host-messages')
  context.db = createStateDb(context.dir, 30)
})
test.after.each(({ dir, db }) => {
  db.close()
  rmSync(dir, { recursive: true })
})

test('content is text, or the text of its parts with the names of the others', () => {
  const parts = [
    { type: 'text', text: 'look' },
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
    { type: 'image', source: { data: 'AAAA' } },
    { type: 'input_audio' },
    { type: 'tool_result' },
    'a bare string',
    null,
  ]
  const cases: [stored: unknown, text: string][] = [
    ['hello\nworld', 'hello\nworld'],
    ['[{"type":"text"}]', '[{"type":"text"}]'],
    ...[null, undefined, 7, Buffer.from('x')].map((value): [unknown, string] => [value, '']),
    [listContent(parts), 'look\n[image]\n[image]\n[input_audio]\n[tool_result]\na bare string'],
    ['\0json:{"type":"text","text":"one"}', 'one'],
    ['\0json:"two"', 'two'],
    [listContent(parts).slice(0, -3), '[unreadable content]'],
  ]
  for (const [stored, text] of cases) assert.is(readContent(stored), text)
})

test('maps rows to messages in the order of time, then of rows', ({ db }) => {
  addSession(db, 's')
  const called = { tool_call_id: 'call_1', tool_name: 'read_file' }
  addMessage(db, 's', 'tool', 'done', { timestamp: 30, ...called })
  addMessage(db, 's', 'user', 'go', { timestamp: 10 })
  const call = { call_id: 'call_1', function: { name: 'read_file', arguments: { path: 'a' } } }
  const tool_calls = JSON.stringify([call, { function: { name: 'no id' } }])
  addMessage(db, 's', 'assistant', 'yes', { timestamp: 10, tool_calls })
  const read = { name: 'read_file', arguments: '{"path":"a"}' }
  const calls = [{ id: 'call_1', type: 'function', function: read }]
  assert.equal(readMessages(db, 's'), [
    { id: 'c2', role: 'user', content: 'go', timestamp: 10 },
    { id: 'c3', role: 'assistant', content: 'yes', timestamp: 10, tool_calls: calls },
    {
      ...{ id: 'c1', role: 'tool', content: 'done', timestamp: 30 },
      ...{ tool_call_id: 'call_1', name: 'read_file' },
    },
  ])
})

test('a lineage is followed in both directions, and ends at a cycle of a damaged file', ({
  db,
}) => {
  const end = { end_reason: 'compression', ended_at: 1_000 }
  addSession(db, 'a', end)
  addSession(db, 'b', { ...end, parent_session_id: 'a' })
  addSession(db, 'sub', { parent_session_id: 'a', started_at: 900 })
  const ways = () => [readLineage(db, 'b'), readLineage(db, 'sub'), readLineageTip(db, 'a')]
  assert.equal(ways(), [['a', 'b'], ['sub'], 'b'])
  db.prepare("update sessions set parent_session_id = 'b' where id = 'a'").run()
  assert.equal(ways(), [['a', 'b'], ['sub'], 'b'])
})

test('reports compaction in place', ({ db }) => {
  addSession(db, 's')
  addMessage(db, 's', 'user', 'text', { timestamp: 1 })
  assert.not(isCompacted(db, 's'))
  addMessage(db, 's', 'user', 'old', { timestamp: 1, active: 0, compacted: 1 })
  assert.ok(isCompacted(db, 's'))
  assert.equal(texts(readMessages(db, 's')), ['text'])
})

test('copies of first and last messages are left out, the summary between them is not', () => {
  const parent = ['a', 'b', 'c', 'd'].map(text => message(text))
  const child = ['a', 'summary', 'c', 'd', 'e'].map(text => message(text, `new ${text}`))
  assert.equal(texts(withoutCopies(parent, child)), ['summary', 'e'])
  for (const earlier of [[], [message('x')]]) assert.equal(withoutCopies(earlier, parent), parent)
})

test('cached tokens that only the database knows stay when usage is written back', ({ db }) => {
  const options = { workspace: '/work', profile: 'default' }
  addSession(db, 'cli', { title: 'T', input_tokens: 5, cache_read_tokens: 900 })
  const { row } = readRow(db, 'cli', options)!
  // An earlier version imported the session without them.
  const { cache_read_tokens: _, ...imported } = { ...row, input_tokens: 5 }
  mirrorUsage(db, { ...imported, input_tokens: 15, cache_write_tokens: 3 }, 1)
  const read = readRow(db, 'cli', options)?.row
  const tokens = [read?.input_tokens, read?.cache_read_tokens, read?.cache_write_tokens]
  assert.equal(tokens, [15 + 900, 900, 3])
})

test.run()
