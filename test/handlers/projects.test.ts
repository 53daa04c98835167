/** Projects over HTTP: five endpoints over one file that other programs may write too. */
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'

const test = suite<{ app: TestApp }>('projects')
test.before.each(async context => {
  context.app = await startApp()
})
test.after.each(({ app }) => app.close())

type Named = { project_id: string; name: string; color: string | null; created_at: number }
const fileOf = (app: TestApp) => join(app.state, 'projects.json')
const stored = (app: TestApp): Named[] => JSON.parse(readFileSync(fileOf(app), 'utf8'))
const list = async (app: TestApp): Promise<Named[]> =>
  (await app.get('/api/projects')).body.projects
const make = async (app: TestApp, name: string, color?: string): Promise<Named> => {
  const { status, body, text } = await app.post('/api/projects/create', { name, color })
  assert.is(status, 200, text)
  return body.project
}
/** With one message, so that lists show it. */
const session = async (app: TestApp, title = 'A'): Promise<string> => {
  const messages = [{ role: 'user', content: 'hello' }]
  return (await app.post('/api/session/import', { title, messages })).body.session.session_id
}
const projectOf = async (app: TestApp, id: string) =>
  (await app.get(`/api/session?session_id=${id}&messages=0`)).body.session.project_id

test('create: trims the name, which must have 1 to 128 characters (400)', async ({ app }) => {
  for (const name of ['', '   ', '\n', 'x'.repeat(129), '🐘'.repeat(129), null, 7, undefined, {}]) {
    const { status, body } = await app.post('/api/projects/create', { name })
    assert.is(status, 400, JSON.stringify(name))
    assert.type(body.error, 'string')
  }
  assert.equal(await list(app), [])
  assert.not.ok(existsSync(fileOf(app)))
  assert.is((await make(app, `  ${'x'.repeat(128)}  `)).name, 'x'.repeat(128))
  assert.is([...(await make(app, '🐘'.repeat(128))).name].length, 128)
})

test('create: a color is absent or matches ^#[0-9a-fA-F]{3,8}$ as a whole (400)', async ({
  app,
}) => {
  for (const color of ['red', '#12', '#123456789', '#ggg', '#fff\n', ' #fff', 'x#fff', 7, ['#fff']])
    assert.is(
      (await app.post('/api/projects/create', { name: 'a', color })).status,
      400,
      `${color}`,
    )
  assert.equal(await list(app), [])
  assert.is((await make(app, 'a', '#fFf')).color, '#fFf')
  assert.is((await make(app, 'b', '#12345678')).color, '#12345678')
  assert.is((await make(app, 'c')).color, null)
  assert.is(
    (await app.post('/api/projects/create', { name: 'd', color: null })).body.project.color,
    null,
  )
})

test('create: 12 hex digits, time in seconds, one private file that survives a restart', async ({
  app,
}) => {
  const before = Date.now() / 1_000
  const project = await make(app, 'Website', '#0af')
  assert.equal(Object.keys(project), ['project_id', 'name', 'color', 'created_at'])
  assert.match(project.project_id, /^[0-9a-f]{12}$/)
  assert.ok(project.created_at >= before && project.created_at <= Date.now() / 1_000)
  assert.equal(stored(app), [project])
  assert.is(statSync(fileOf(app)).mode & 0o777, 0o600)
  await app.restart()
  assert.equal(await list(app), [project])
})

test('rename: rejections change nothing; the color changes only when given, and null clears it', async ({
  app,
}) => {
  const { project_id } = await make(app, 'Old', '#abc')
  const rename = (body: Record<string, unknown>) => app.post('/api/projects/rename', body)
  assert.is((await rename({ name: 'x' })).status, 400)
  assert.is((await rename({ project_id, name: ' ' })).status, 400)
  assert.is((await rename({ project_id, name: 'x'.repeat(129) })).status, 400)
  assert.is((await rename({ project_id, name: 'x', color: 'blue' })).status, 400)
  const gone = await rename({ project_id: '0'.repeat(12), name: 'x' })
  assert.equal([gone.status, gone.body.error], [404, 'Project not found'])
  assert.is(stored(app)[0]?.name, 'Old')
  assert.equal((await rename({ project_id, name: ' New ' })).body.project.name, 'New')
  assert.is(stored(app)[0]?.color, '#abc')
  assert.is((await rename({ project_id, name: 'New', color: '#111' })).body.project.color, '#111')
  assert.is((await rename({ project_id, name: 'New', color: null })).body.project.color, null)
})

test('assign: moves a session and notifies open pages; null, blank or absent removes it', async ({
  app,
}) => {
  const { project_id } = await make(app, 'Website')
  const id = await session(app)
  assert.is((await app.post('/api/session/move', { session_id: 'f'.repeat(12) })).status, 404)
  assert.is((await app.post('/api/session/move', { project_id })).status, 400)
  assert.is((await app.post('/api/session/move', { session_id: id, project_id: 7 })).status, 400)
  const events = app.events('/api/events')
  await events.until(({ event }) => event === 'ready')
  const moved = await app.post('/api/session/move', { session_id: id, project_id })
  assert.equal([moved.body.ok, moved.body.session.project_id], [true, project_id])
  const seen = await events.until(({ event }) => event === 'row')
  events.close()
  assert.is(seen.at(-1)?.data.data.row.project_id, project_id)
  assert.is((await app.get('/api/sessions')).body.sessions[0].project_id, project_id)
  for (const out of [null, '', undefined]) {
    await app.post('/api/session/move', { session_id: id, project_id })
    await app.post('/api/session/move', { session_id: id, project_id: out })
    assert.is(await projectOf(app, id), null)
  }
})

test('delete: unassigns its sessions, also archived and empty ones, also after a restart', async ({
  app,
}) => {
  const gone = await app.post('/api/projects/delete', { project_id: 'f'.repeat(12) })
  assert.equal([gone.status, gone.body.error], [404, 'Project not found'])
  assert.is((await app.post('/api/projects/delete', {})).status, 400)

  const [a, b] = [await make(app, 'a'), await make(app, 'b')]
  const inA = await Promise.all(Array.from({ length: 5 }, () => session(app)))
  const empty = (await app.post('/api/session/new', {})).body.session.session_id
  const other = await session(app)
  for (const id of [...inA, empty])
    await app.post('/api/session/move', { session_id: id, project_id: a.project_id })
  await app.post('/api/session/move', { session_id: other, project_id: b.project_id })
  await app.post('/api/session/archive', { session_id: inA[0] })
  assert.equal((await app.post('/api/projects/delete', { project_id: a.project_id })).body, {
    ok: true,
  })
  await app.restart()
  for (const id of [...inA, empty]) assert.is(await projectOf(app, id), null)
  assert.is(await projectOf(app, other), b.project_id)
  assert.equal(stored(app), [b])
})

test('picks up changes of the file by other programs at once and keeps their meaning', async ({
  app,
}) => {
  const mine = await make(app, 'Mine')
  const foreign = {
    project_id: 'abcdefabcdef',
    name: 'Theirs',
    color: null,
    created_at: 1,
    icon: 'x',
  }
  const strange = [{ name: 'without id' }, 'text', 7]
  writeFileSync(fileOf(app), JSON.stringify([mine, foreign, ...strange]))
  assert.equal(
    (await list(app)).map(({ name }) => name),
    ['Mine', 'Theirs'],
  )
  await app.post('/api/projects/rename', { project_id: 'abcdefabcdef', name: 'Renamed' })
  await app.post('/api/projects/delete', { project_id: mine.project_id })
  assert.equal(stored(app) as unknown[], [{ ...foreign, name: 'Renamed' }, ...strange])
})

test('does not overwrite an unreadable file (409), and lists the last known projects', async ({
  app,
}) => {
  await make(app, 'Kept')
  assert.is((await list(app)).length, 1)
  for (const broken of ['[{"project_id": "abc', '{"a": 1}']) {
    writeFileSync(fileOf(app), broken)
    assert.is((await app.post('/api/projects/create', { name: 'b' })).status, 409)
    assert.is(readFileSync(fileOf(app), 'utf8'), broken)
    assert.is((await list(app)).length, 1)
  }
})

test.run()
