/** Finding files of a workspace by parts of their path. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type Desk, openDesk } from './_files.ts'

const test = suite<Desk>('file search over HTTP')
test.before(async context => {
  const desk = await openDesk()
  Object.assign(context, desk)
  const put = (path: string) => {
    mkdirSync(join(desk.root, path, '..'), { recursive: true })
    writeFileSync(join(desk.root, path), 'x')
  }
  put('src/deep/er/retry-policy.ts')
  put('retry/notes.md')
  put('node_modules/retry/index.js')
  put('built/retry.js')
  put('.env.retry')
  writeFileSync(join(desk.root, '.gitignore'), 'built\n')
  mkdirSync(join(desk.root, '.git'))
})
test.after(({ app }) => app.close())

const find = async ({ app, query }: Desk, q: string): Promise<string[]> => {
  const { body } = await app.get(`/api/files/search?${query({ q })}`)
  return (body.files as { path: string; type: string }[]).map(
    ({ path, type }) => path + (type === 'dir' ? '/' : ''),
  )
}

test('rejects an unknown session and a bad limit; an empty query finds nothing', async desk => {
  const unknown = await desk.app.get('/api/files/search?session_id=0123456789ab&q=a')
  assert.is(unknown.status, 404)
  assert.is((await desk.app.get('/api/files/search?q=a')).status, 400)
  for (const limit of ['0', '101', 'x'])
    assert.is((await desk.app.get(`/api/files/search?${desk.query({ limit })}`)).status, 400)
  assert.equal(await find(desk, ''), [])
  assert.equal(await find(desk, '../'), [])
})

test('finds files and folders at any depth, names before folders, without ignored ones and links', async desk => {
  assert.equal(await find(desk, 'retry'), [
    'retry/',
    '.env.retry',
    'src/deep/er/retry-policy.ts',
    'retry/notes.md',
  ])
  assert.equal(await find(desk, 'deep pol'), ['src/deep/er/retry-policy.ts'])
  assert.equal(await find(desk, 'secret'), [])
  assert.equal(await find(desk, 'alias'), [])
  const { body } = await desk.app.get(`/api/files/search?${desk.query({ q: 'main' })}`)
  assert.equal(body, {
    files: [{ path: 'src/main.ts', type: 'file', ranges: [4, 8] }],
    partial: false,
  })
})

test('files that the workspace hides are not found', async desk => {
  const { app } = desk
  writeFileSync(join(app.home, 'config.yaml'), 'model: {}\n')
  writeFileSync(join(app.home, 'visible-config.txt'), '')
  const id = (await app.post('/api/session/new', { workspace: app.home })).body.session.session_id
  const { body } = await app.get(`/api/files/search?session_id=${id}&q=config`)
  assert.equal(
    body.files.map(({ path }: { path: string }) => path),
    ['visible-config.txt'],
  )
})

test.run()
