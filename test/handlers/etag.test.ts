/** Tags of every GET: well-formed, and 304 only where the same bytes would be sent. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { routes } from '../../router.ts'
import { startApp, type TestApp } from '../_app.ts'

const test = suite<{ app: TestApp; id: string }>('ETags')
test.before(async state => {
  state.app = await startApp()
  const messages = [{ role: 'user', content: 'hello' }]
  for (let at = 0; at < 5; at += 1)
    state.id = (
      await state.app.post('/api/session/import', { title: `t${at}`, messages })
    ).body.session.session_id
})
test.after(({ app }) => app.close())

const STRONG = /^"[\x21\x23-\x7e]*"$/

const paths = (id: string): string[] => {
  const plain = Object.keys(routes)
    .filter(
      key => key.startsWith('GET /api/') && !/stream|events|cancel|live|inject_test/.test(key),
    )
    .map(key => key.slice(4))
  return [
    ...plain,
    ...plain.map(path => `${path}?session_id=${id}`),
    '/api/sessions?limit=2',
    '/api/sessions?limit=2&profile=default',
    '/api/sessions?profile=default',
    '/api/sessions/search?q=hello',
    '/static/main.js',
  ]
}

test('an ETag is strong and quoted, and gives 304 exactly while the body is unchanged', async ({
  app,
  id,
}) => {
  let tagged = 0
  for (const path of paths(id)) {
    const first = await app.get(path)
    const { etag } = first.headers
    if (first.status !== 200) continue
    if (etag === undefined) continue
    tagged += 1
    assert.match(etag, STRONG, path)
    for (const asked of [etag, `W/${etag}`, `"other", ${etag}`, `"other" , W/${etag},"x"`, '*']) {
      const again = await app.get(path, { headers: { 'If-None-Match': asked } })
      const fresh = await app.get(path)
      assert.is(again.status, 304, `${path} ${asked}`)
      assert.is(again.bytes.length, 0)
      assert.ok(fresh.bytes.equals(first.bytes), path)
    }
    for (const asked of ['"other"', etag.slice(1, -1), 'W/"other"', '""', ','])
      assert.is((await app.get(path, { headers: { 'If-None-Match': asked } })).status, 200, path)
  }
  assert.ok(tagged > 20, `only ${tagged} have a tag`)
})

test('a matching ETag always means the same bytes', async ({ app, id }) => {
  const watched = [
    '/api/sessions',
    '/api/sessions?limit=2',
    '/api/sessions?limit=3',
    '/api/settings',
    '/api/projects',
    `/api/session?session_id=${id}`,
    `/api/session?session_id=${id}&limit=5`,
  ]
  const known = new Map<string, { etag: string; text: string }>()
  const events: [string, object][] = [
    ['/api/session/rename', { session_id: id, title: 'renamed' }],
    ['/api/session/pin', { session_id: id }],
    ['/api/session/draft', { session_id: id, text: 'a draft' }],
    ['/api/settings', { bot_name: 'Other' }],
    ['/api/projects/create', { name: 'P' }],
    ['/api/session/new', {}],
    ['/api/session/archive', { session_id: id }],
    ['/api/session/archive', { session_id: id, archived: false }],
  ]
  for (const [path, body] of [['/api/auth/logout', {}] as [string, object], ...events]) {
    await app.post(path, body)
    for (const at of watched) {
      const before = known.get(at)
      const fresh = await app.get(at)
      if (before) {
        const asked = await app.get(at, { headers: { 'If-None-Match': before.etag } })
        if (asked.status === 304) assert.is(fresh.text, before.text, `${at} after ${path}`)
      }
      if (fresh.headers.etag) known.set(at, { etag: fresh.headers.etag, text: fresh.text })
    }
  }
})

test.run()
