/** GET /api/sessions/gateway/stream over HTTP: probe, refusals, the stream, and the frame of GET /api/events. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'
import { addConversation, createStateDb } from '../_state-db.ts'

const PATH = '/api/sessions/gateway/stream'
const test = suite<{ app: TestApp }>('gateway stream')
test.before.each(async context => {
  context.app = await startApp()
})
test.after.each(({ app }) => app.close())

const show = (app: TestApp) => app.post('/api/settings', { show_cli_sessions: true })

test('returns 404 for probe and stream when the setting is off', async ({ app }) => {
  assert.equal((await app.get(PATH)).body, {
    error: 'agent sessions not enabled',
    code: 'not_found',
  })
  for (const probe of ['1', 'true', 'yes']) {
    const { status, body } = await app.get(`${PATH}?probe=${probe}`)
    assert.is(status, 404)
    assert.equal(body, {
      enabled: false,
      fallback_poll_ms: 30_000,
      ok: false,
      watcher_running: true,
      error: 'agent sessions not enabled',
    })
  }
})

test('returns 503 when the watcher cannot read its database', async ({ app }) => {
  await show(app)
  writeFileSync(join(app.home, 'state.db'), 'no database'.repeat(200))
  const stream = await app.get(PATH)
  assert.equal(
    [stream.status, stream.body],
    [
      503,
      { error: 'watcher not started', code: 'unavailable', request_id: stream.body.request_id },
    ],
  )
  const { status, body } = await app.get(`${PATH}?probe=1`)
  assert.equal(
    [status, body.enabled, body.ok, body.watcher_running, body.error],
    [503, true, false, false, 'watcher not started'],
  )
})

test('the probe reports that the watcher runs', async ({ app }) => {
  await show(app)
  const { status, body } = await app.get(`${PATH}?probe=1`)
  assert.is(status, 200)
  assert.equal(body, { enabled: true, fallback_poll_ms: 30_000, ok: true, watcher_running: true })
})

test('the stream starts with the current sessions and sends changes; so does GET /api/events', async ({
  app,
}) => {
  await show(app)
  const db = createStateDb(app.home, 6)
  addConversation(db, 'first')
  const stream = app.events(PATH)
  const all = app.events('/api/events')
  await all.until(({ event }) => event === 'ready')
  const { status, headers } = await stream.opened
  assert.is(status, 200)
  assert.match(String(headers['content-type']), 'text/event-stream')
  assert.is(headers['x-frame-options'], 'DENY')
  const [initial] = await stream.until(({ event }) => event === 'sessions_changed')
  assert.equal(Object.keys(initial!.data), ['sessions'])
  assert.is(initial!.data.sessions[0].session_id, 'first')
  assert.is(initial!.data.sessions[0].is_cli_session, true)
  assert.match(initial!.id, /^\d+$/)
  // Our own changes are emitted at once.
  await app.post('/api/session/delete', { session_id: 'first' })
  const [gone] = await stream.until(({ event }) => event === 'sessions_changed')
  assert.equal(gone!.data, { type: 'sessions_changed', sessions: [] })
  await app.post('/api/session/restore', { session_id: 'first' })
  const [back] = await stream.until(({ event }) => event === 'sessions_changed')
  assert.equal(back!.data.sessions, [
    {
      session_id: 'first',
      title: 'Cli Session',
      model: null,
      message_count: 2,
      created_at: 1_000,
      updated_at: 1_002,
      source: 'cli',
    },
  ])
  const received = await all.until(({ event }) => event === 'gateway')
  assert.equal(received.at(-1)!.data.data, { alive: true, profile: 'default', changed: true })
  for (const each of [stream, all]) each.close()
  db.close()
})

test.run()
