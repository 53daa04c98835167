/** Replies to the same request are sent again while nothing in them has changed. */
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { refreshSecrets } from '../../lib/base/redact/redact.ts'
import { Session } from '../../lib/schema/session.ts'
import { startApp, type TestApp } from '../_app.ts'
import { createProvider, gate } from '../_provider.ts'

const test = suite<{ app: TestApp; id: string }>('kept replies')

test.before.each(async context => {
  context.app = await startApp()
  const messages = ['one', 'two', 'three', 'four'].map((content, i) => ({
    role: i % 2 ? 'assistant' : 'user',
    content,
  }))
  const { body } = await context.app.post('/api/session/import', { title: 'Talk', messages })
  context.id = body.session.session_id
})
test.after.each(({ app }) => app.close())

test('a reply that is sent again is the one that would be made now, whatever has changed', async ({
  app,
  id,
}) => {
  const journal = join(app.state, 'sessions', `${id}.jsonl`)
  const asked = ['', '&limit=2', '&limit=2&before=m4', '&messages=0']
  let asks = 0
  const check = async (after: string) => {
    for (const more of asked) {
      const path = `/api/session?session_id=${id}${more}`
      // Any value but 0 means the same, and was never asked for before.
      const fresh = more.includes('messages')
        ? `${path}&limit=${++asks}`
        : `${path}&messages=f${++asks}`
      const [first, again, made] = [await app.get(path), await app.get(path), await app.get(fresh)]
      assert.equal([first.status, made.status], [200, 200], `${more} after ${after}`)
      assert.is(again.text, first.text, `${more} after ${after}`)
      assert.is(again.text, made.text, `${more} after ${after}`)
      const tag = { 'If-None-Match': String(first.headers.etag) }
      const tagged = await app.get(path, { headers: tag })
      // An event may have arrived, which a whole session is not compared without.
      if (tagged.headers.etag === first.headers.etag)
        assert.is(tagged.status, 304, `${more} after ${after}`)
      Session.parse(again.body.session)
    }
  }
  await check('the import')
  const changes: [string, () => unknown][] = [
    ['a new title', () => app.post('/api/session/rename', { session_id: id, title: 'Other' })],
    ['a draft', () => app.post('/api/session/draft', { session_id: id, text: 'draft' })],
    ['a pin', () => app.post('/api/session/pin', { session_id: id })],
    ['an event elsewhere', () => app.post('/api/session/new', {})],
    [
      'a line of another program',
      () => {
        const n = readFileSync(journal, 'utf8').trimEnd().split('\n').length + 1
        appendFileSync(
          journal,
          `{"n":${n},"t":"message","at":1,"message":{"id":"m${n}","role":"user","content":"Zq7vR2mX9kL4pT8wB3nC","timestamp":1}}\n`,
        )
      },
    ],
    [
      'a key',
      () => {
        writeFileSync(join(app.home, '.env'), 'EXAMPLE_API_KEY=Zq7vR2mX9kL4pT8wB3nC\n')
        refreshSecrets()
      },
    ],
    [
      'a configuration',
      () => writeFileSync(join(app.home, 'config.yaml'), 'model:\n  default: openai/gpt-5\n'),
    ],
  ]
  for (const [name, change] of changes) {
    await change()
    await check(name)
  }
  const { body } = await app.get(`/api/session?session_id=${id}`)
  assert.is(body.session.messages.at(-1).content, 'Zq7vR2...B3nC')
  await app.post('/api/session/delete', { session_id: id })
  assert.is((await app.get(`/api/session?session_id=${id}`)).status, 404)
})

test('a message that was sent is in the next reply, and the running turn too', async ({
  app,
  id,
}) => {
  // The built-in demo would take its time for the reply.
  const { opened, open } = gate()
  await using provider = await createProvider({ text: 'six', gate: opened })
  const model = `model: {provider: custom, base_url: '${provider.url}', default: test-model}\n`
  writeFileSync(join(app.home, 'config.yaml'), model)
  const path = `/api/session?session_id=${id}&limit=50`
  await app.get(path)
  const { body } = await app.post('/api/chat/start', { session_id: id, message: 'five' })
  const running = (await app.get(path)).body.session
  assert.ok(running.messages.some((message: { content: string }) => message.content === 'five'))
  open()
  await app.get(`/api/chat/stream?stream_id=${body.stream_id}`)
  const ended = (await app.get(path)).body.session
  assert.is(ended.live, null)
  assert.equal([ended.messages.at(-1).role, ended.messages.at(-1).content], ['assistant', 'six'])
})

test('a matching tag means the same bytes, also in a page of the list', async ({ app, id }) => {
  const path = '/api/sessions?limit=2'
  const changes: [string, object][] = [
    ['rename', { session_id: id, title: 'renamed' }],
    ['draft', { session_id: id, text: 'a draft' }],
    ['new', {}],
  ]
  for (const [verb, body] of changes) {
    const before = await app.get(path)
    await app.post(`/api/session/${verb}`, body)
    const fresh = await app.get(path)
    const isSame = fresh.text === before.text
    assert.is(fresh.headers.etag === before.headers.etag, isSame, `after ${verb}`)
  }
})

test.run()
