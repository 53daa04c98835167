/** sync_to_insights: usage of a turn is written to the host agent's database, and failures do not affect the turn. */
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Step } from '../_provider.ts'
import { addConversation, addSession, createStateDb, SCHEMAS } from '../_state-db.ts'
import { startChat } from './_chat.ts'

const answer = (input: number, output: number): Step => ({
  text: 'An answer.',
  usage: { prompt_tokens: input, completion_tokens: output },
})
/** Asked for once, after the first turn. */
const title: Step = { text: 'Green tea' }

type Row = { id: string; source: string; model: string | null; title: string | null } & Record<
  string,
  number
>

const test = suite('sync_to_insights')

for (const schema of SCHEMAS) {
  test(`off: nothing is written to state.db; on: absolute totals are (schema ${schema})`, async () => {
    const { app, newSession, turn, close } = await startChat(
      answer(10, 5),
      title,
      answer(20, 7),
      answer(30, 9),
    )
    const db = createStateDb(app.home, schema)
    const rows = () => db.prepare<[], Row>('select * from sessions').all()
    const from = Date.now() / 1_000
    const id = await newSession()
    await turn(id, 'Tell me about tea')
    assert.equal(rows(), [])
    await app.post('/api/settings', { sync_to_insights: true })
    await turn(id, 'More')
    const [first] = rows()
    const web = (await app.get(`/api/session?session_id=${id}`)).body.session
    assert.equal([first!.id, first!.source], [id, 'webui'])
    assert.equal([first!.input_tokens, first!.output_tokens], [30, 12])
    assert.is(first!.message_count, web.messages.length)
    assert.is(first!.title, web.title)
    assert.is(first!.model, web.model)
    assert.is(first!.estimated_cost_usd, web.estimated_cost)
    assert.ok(first!.started_at! >= from && first!.started_at! <= Date.now() / 1_000)
    await turn(id, 'And more')
    const [second, none] = rows()
    assert.is(none, undefined)
    assert.equal([second!.input_tokens, second!.output_tokens], [60, 21], 'never counted twice')
    assert.is(second!.started_at, first!.started_at)
    db.close()
    assert.equal(
      readdirSync(app.home).filter(name => name.startsWith('state.db')),
      ['state.db'],
      'the connection is closed',
    )
    await close()
  })
}

test('does not create a missing state.db', async () => {
  const { app, newSession, turn, close } = await startChat(answer(1, 1), title)
  await app.post('/api/settings', { sync_to_insights: true })
  await turn(await newSession(), 'Hello')
  assert.not.ok(existsSync(join(app.home, 'state.db')))
  await close()
})

test('a failed write is logged and the turn still completes', async () => {
  const { app, newSession, turn, close } = await startChat(answer(1, 1), title)
  await app.post('/api/settings', { sync_to_insights: true })
  writeFileSync(join(app.home, 'state.db'), 'no database'.repeat(300))
  const seen = await turn(await newSession(), 'Hello')
  assert.ok(seen.some(({ event }) => event === 'done'))
  assert.ok(app.lines.some(line => /could not write usage to the agent/.test(line)))
  assert.equal(app.errors, [])
  await close()
})

test('a duplicate title gets the next free number and keeps it', async () => {
  const { app, newSession, turn, close } = await startChat(answer(1, 1), title, answer(1, 1))
  await app.post('/api/settings', { sync_to_insights: true })
  const db = createStateDb(app.home, 6)
  addSession(db, 'a', { title: 'Green tea' })
  addSession(db, 'b', { title: 'Green tea #2' })
  const id = await newSession()
  const titleOf = () => db.prepare('select title from sessions where id = ?').pluck().get(id)
  await turn(id, 'Tell me about tea')
  assert.is(titleOf(), 'Green tea #3')
  db.prepare("delete from sessions where id = 'a'").run()
  await turn(id, 'More')
  assert.is(titleOf(), 'Green tea #3')
  db.close()
  await close()
})

test('a CLI session keeps its source and title', async () => {
  const { app, turn, close } = await startChat(answer(10, 5))
  await app.post('/api/settings', { sync_to_insights: true })
  const db = createStateDb(app.home, 30)
  addConversation(db, 'from_cli', {
    title: 'Mine',
    input_tokens: 100,
    output_tokens: 50,
    model: 'x',
  })
  await app.post('/api/session/import_cli', { session_id: 'from_cli' })
  await app.post('/api/session/update', { session_id: 'from_cli', model: 'test-model' })
  await turn('from_cli', 'Go on')
  const row = db.prepare<[], Row>("select * from sessions where id = 'from_cli'").get()!
  assert.equal([row.source, row.title, row.model], ['cli', 'Mine', 'x'])
  assert.equal([row.input_tokens, row.output_tokens], [110, 55])
  db.close()
  await close()
})

test.run()
