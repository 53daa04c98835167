/** The message history of a host session: row mapping, lineage and copies after compaction. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  isCompacted,
  readLineage,
  readLineageTip,
  readMessages,
  withoutCopies,
} from '../../../../lib/sessions/host-db/read-messages.ts'
import type { Message } from '../../../../lib/schema/message.ts'
import { addMessage, addSession, createStateDb, SCHEMAS, type StateDb } from '../../../_state-db.ts'

const message = (content: string, id = content): Message => ({ id, role: 'user', content })
const texts = (messages: readonly Message[]) => messages.map(({ content }) => content)

for (const schema of SCHEMAS) {
  const test = suite<{ dir: string; db: StateDb }>(`host-db messages, schema ${schema}`)
  test.before.each(context => {
    context.dir = mkdtempSync(join(tmpdir(), 'host-messages-'))
    context.db = createStateDb(context.dir, schema)
  })
  test.after.each(({ dir, db }) => {
    db.close()
    rmSync(dir, { recursive: true })
  })

  test('maps rows to messages in the order of time, then of rows', ({ db }) => {
    addSession(db, 's')
    addMessage(db, 's', 'tool', 'done', {
      timestamp: 30,
      tool_call_id: 'call_1',
      tool_name: 'read_file',
    })
    addMessage(db, 's', 'user', 'go', { timestamp: 10 })
    addMessage(db, 's', 'assistant', 'yes', {
      timestamp: 10,
      reasoning: 'hm',
      tool_calls: JSON.stringify([
        { call_id: 'call_1', function: { name: 'read_file', arguments: { path: 'a' } } },
        { function: { name: 'no id' } },
      ]),
    })
    addMessage(db, 's', 'session_meta', 'internal', { timestamp: 20 })
    assert.equal(readMessages(db, 's'), [
      { id: 'c2', role: 'user', content: 'go', timestamp: 10 },
      {
        id: 'c3',
        role: 'assistant',
        content: 'yes',
        timestamp: 10,
        tool_calls: [
          {
            id: 'call_1',
            type: 'function',
            function: { name: 'read_file', arguments: '{"path":"a"}' },
          },
        ],
        reasoning: 'hm',
      },
      {
        id: 'c1',
        role: 'tool',
        content: 'done',
        timestamp: 30,
        tool_call_id: 'call_1',
        name: 'read_file',
      },
    ])
  })

  test('reads a message whose tool calls are not valid JSON', ({ db }) => {
    addSession(db, 's')
    addMessage(db, 's', 'assistant', 'text', { timestamp: 1, tool_calls: '[{"id":' })
    const [read] = readMessages(db, 's')
    assert.equal([read?.content, read?.tool_calls], ['text', undefined])
  })

  test('follows a lineage across compaction in both directions', ({ db }) => {
    const end = { end_reason: 'compression', ended_at: 2_000 }
    addSession(db, 'a', end)
    addSession(db, 'b', { parent_session_id: 'a', started_at: 2_000 })
    addSession(db, 'sub', { parent_session_id: 'a', started_at: 1_200 })
    for (const text of ['one', 'two', 'three']) addMessage(db, 'a', 'user', text, { timestamp: 1 })
    for (const text of ['one', 'summary', 'three', 'four'])
      addMessage(db, 'b', 'user', text, { timestamp: 2 })
    assert.equal(readLineage(db, 'b'), ['a', 'b'])
    assert.equal(readLineage(db, 'sub'), ['sub'])
    assert.is(readLineageTip(db, 'a'), 'b')
    assert.equal(texts(readMessages(db, 'b')), ['one', 'two', 'three', 'summary', 'four'])
  })

  test('ends at a cycle in a damaged file', ({ db }) => {
    const end = { end_reason: 'compression', ended_at: 1_000 }
    addSession(db, 'a', end)
    addSession(db, 'b', { ...end, parent_session_id: 'a' })
    db.prepare("update sessions set parent_session_id = 'b' where id = 'a'").run()
    assert.equal(readLineage(db, 'a'), ['b', 'a'])
    assert.is(readLineageTip(db, 'a'), 'b')
  })

  test('reports compaction in place where the schema has it', ({ db }) => {
    addSession(db, 's')
    addMessage(db, 's', 'user', 'text', { timestamp: 1 })
    assert.not(isCompacted(db, 's'))
    if (schema < 30) return
    addMessage(db, 's', 'user', 'old', { timestamp: 1, active: 0, compacted: 1 })
    assert.ok(isCompacted(db, 's'))
    assert.equal(texts(readMessages(db, 's')), ['text'])
  })

  test.run()
}

const copies = suite('host-db copies after compaction')

copies('removes copied first and last messages, and keeps the summary between them', () => {
  const parent = ['a', 'b', 'c', 'd'].map(text => message(text))
  const child = ['a', 'summary', 'c', 'd', 'e'].map(text => message(text, `new ${text}`))
  assert.equal(texts(withoutCopies(parent, child)), ['summary', 'e'])
})

copies('keeps everything when nothing was copied', () => {
  const child = [message('x'), message('y')]
  assert.equal(withoutCopies([], child), child)
  assert.equal(withoutCopies([message('a')], child), child)
})

copies.run()
