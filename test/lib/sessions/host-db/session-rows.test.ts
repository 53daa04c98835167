/** Rows of the session list from the host agent's database, for every supported schema version. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { readRow, readRows } from '../../../../lib/sessions/host-db/session-rows.ts'
import { mirrorUsage } from '../../../../lib/sessions/host-db/usage-mirror.ts'
import { addMessage, addSession, createStateDb, SCHEMAS, type StateDb } from '../../../_state-db.ts'

const options = { workspace: '/work', profile: 'default', redact: (text: string) => text }

for (const schema of SCHEMAS) {
  const test = suite<{ dir: string; db: StateDb }>(`host-db rows, schema ${schema}`)
  test.before.each(context => {
    context.dir = mkdtempSync(join(tmpdir(), 'host-rows-'))
    context.db = createStateDb(context.dir, schema)
  })
  test.after.each(({ dir, db }) => {
    db.close()
    rmSync(dir, { recursive: true })
  })
  const ids = (db: StateDb) => readRows(db, options).map(({ session_id }) => session_id)

  test('lists the newest activity first', ({ db }) => {
    for (const [id, at] of [
      ['one', 1_000],
      ['two', 3_000],
      ['three', 2_000],
    ] as const) {
      addSession(db, id, { started_at: 500 })
      addMessage(db, id, 'user', 'hello', { timestamp: at })
    }
    assert.equal(ids(db), ['two', 'three', 'one'])
  })

  test('maps columns, and derives a missing title from the source', ({ db }) => {
    addSession(db, 'a1', { source: 'my_bot', model: 'm', input_tokens: 5, output_tokens: null })
    addMessage(db, 'a1', 'user', 'hello', { timestamp: 1_500 })
    const [row] = readRows(db, options)
    assert.is(row?.title, 'My Bot Session')
    assert.equal(
      [row?.model, row?.input_tokens, row?.output_tokens, row?.message_count, row?.updated_at],
      ['m', 5, 0, 1, 1_500],
    )
    assert.equal(
      [row?.workspace, row?.profile, row?.source_tag, row?.is_cli_session],
      ['/work', 'default', 'my_bot', true],
    )
  })

  test('leaves out our own rows, empty sessions and ids that the API rejects', ({ db }) => {
    addSession(db, 'ours', { source: 'webui', title: 'mirrored' })
    addSession(db, 'empty')
    addSession(db, 'titled', { title: 'Title only' })
    addSession(db, '../passwd', { title: 'bad id' })
    assert.equal(ids(db), ['titled'])
  })

  test('cached tokens that only the database knows stay when usage is written back', ({ db }) => {
    addSession(db, 'cli', { title: 'T', input_tokens: 5, cache_read_tokens: 900 })
    const { row } = readRow(db, 'cli', options)!
    // An earlier version imported the session without them.
    const { cache_read_tokens: _, ...imported } = { ...row, input_tokens: 5 }
    mirrorUsage(db, { ...imported, input_tokens: 15, cache_write_tokens: 3 }, 1)
    const read = readRow(db, 'cli', options)?.row
    assert.equal(
      [read?.input_tokens, read?.cache_read_tokens, read?.cache_write_tokens],
      [15 + 900, 900, 3],
    )
  })

  test('lists only the newest session of a compacted lineage, and no subagents', ({ db }) => {
    const end = { end_reason: 'compression', ended_at: 2_000 }
    addSession(db, 'first', { title: 'First', ...end })
    addSession(db, 'second', { title: 'Second', parent_session_id: 'first', started_at: 2_000 })
    addSession(db, 'sub', { title: 'Sub', parent_session_id: 'first', started_at: 1_500 })
    assert.equal(ids(db), ['second'])
  })

  test('reads one session by id, listed or not', ({ db }) => {
    addSession(db, 'empty')
    addSession(db, 'titled', { title: ' Mine ' })
    assert.is(readRow(db, 'nothing', options), undefined)
    assert.is(readRow(db, 'empty', options)?.hasTitle, false)
    const found = readRow(db, 'titled', { ...options, redact: () => 'redacted' })
    assert.equal([found?.hasTitle, found?.row.title], [true, 'redacted'])
  })

  test.run()
}
