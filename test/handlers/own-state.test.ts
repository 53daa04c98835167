/** A workspace in or around the state directory: it works, but for the service's own entries, or it is refused when it is chosen. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'

const test = suite<{ app: TestApp }>('workspaces and the state directory')
test.before.each(async context => {
  context.app = await startApp()
})
test.after.each(({ app }) => app.close())

const choose = async (app: TestApp, path: string) => {
  mkdirSync(path, { recursive: true })
  const added = await app.post('/api/workspaces/add', { path })
  const made = await app.post('/api/session/new', { workspace: path })
  // The default one is in the list already.
  if (!/already/i.test(added.body.error ?? '')) assert.is(made.status, added.status, path)
  return { status: made.status, error: made.body.error, id: made.body.session?.session_id }
}

test('a workspace beside the state files is like any other', async ({ app }) => {
  for (const name of ['workspace', 'projects/deep', 'mine', 'sessions2']) {
    const path = join(app.state, name)
    const { status, id, error } = await choose(app, path)
    assert.is(status, 200, `${name}: ${error}`)
    const saved = await app.post('/api/file/create', {
      session_id: id,
      path: 'a/b.txt',
      content: 'x',
    })
    assert.is(saved.status, 200, `${name}: ${saved.text}`)
    const read = await app.get(`/api/file?session_id=${id}&path=a/b.txt`)
    assert.is(read.body.content, 'x', name)
    assert.is((await app.get(`/api/list?session_id=${id}`)).body.entries.length, 1, name)
  }
})

test('rejects unusable workspaces with a reason', async ({ app }) => {
  for (const name of [
    '',
    'sessions',
    'sessions/below',
    'cache',
    'trash/x',
    'live',
    'tool-output',
  ]) {
    const { status, error } = await choose(app, join(app.state, name))
    assert.is(status, 400, name)
    assert.match(error, /The service keeps its own files there/)
  }
})

test('a workspace around the state directory shows everything else', async ({ app }) => {
  writeFileSync(join(app.home, 'notes.txt'), 'n')
  writeFileSync(join(app.home, '.env'), 'OPENAI_API_KEY=sk-secret')
  for (const [path, relative] of [
    [app.home, ''],
    [app.userHome, '.agent/'],
  ] as const) {
    const { status, id } = await choose(app, path)
    assert.is(status, 200)
    const ask = (file: string) => app.get(`/api/file?session_id=${id}&path=${relative}${file}`)
    assert.is((await ask('notes.txt')).status, 200)
    for (const file of ['.env', 'webui/settings.json', 'webui/sessions', 'webui/.signing_key'])
      assert.is((await ask(file)).status, 404, file)
  }
})

test.run()
