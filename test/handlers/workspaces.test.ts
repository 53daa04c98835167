/** Workspaces and their files over HTTP. */
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'

const test = suite<{ app: TestApp; project: string }>('workspaces over HTTP')
test.before.each(async context => {
  context.app = await startApp()
  context.project = join(context.app.userHome, 'project')
  mkdirSync(join(context.project, 'src'), { recursive: true })
  writeFileSync(join(context.project, 'README.md'), 'hello')
  symlinkSync('/etc', join(context.project, 'away'))
  symlinkSync('src', join(context.project, 'inside'))
  symlinkSync('loop', join(context.project, 'loop'))
})
test.after.each(({ app }) => app.close())

test('a rejected change leaves the list unchanged', async ({ app, project }) => {
  const answer = await app.get('/api/workspaces')
  const before = answer.text
  const [boot] = answer.body.workspaces
  const other = join(app.home, 'profiles', 'other', 'secret')
  mkdirSync(other, { recursive: true })
  const cases: [path: string, body: Record<string, unknown>, status: number][] = [
    ['add', {}, 400],
    ['add', { path: '' }, 400],
    ['add', { path: '  ' }, 400],
    ['add', { path: 5 }, 400],
    ['add', { path: 'x'.repeat(5000) }, 400],
    ['add', { path: 'a\0b' }, 400],
    ['add', { path: join(project, 'gone') }, 400],
    ['add', { path: join(project, 'README.md') }, 400],
    ['add', { path: join(project, 'README.md', 'x') }, 400],
    ['add', { path: '/etc' }, 400],
    ['add', { path: '/usr/bin' }, 400],
    ['add', { path: '~/../../../../../../proc' }, 400],
    ['add', { path: boot.path }, 400],
    ['add', { path: `${boot.path}/` }, 400],
    ['add', { path: other }, 400],
    ['add', { path: join(project, 'away') }, 400],
    ['remove', {}, 400],
    ['rename', { path: project }, 400],
    ['rename', { path: project, name: ' ' }, 400],
    ['rename', { path: project, name: 'x' }, 404],
  ]
  for (const [verb, body, status] of cases) {
    const refused = await app.post(`/api/workspaces/${verb}`, body)
    assert.is(refused.status, status, `${verb} ${JSON.stringify(body).slice(0, 80)}`)
    assert.ok(refused.body.error)
  }
  assert.is((await app.post('/api/workspaces/remove', { path: '/not/there' })).status, 200)
  assert.is((await app.get('/api/workspaces')).text, before)
})

test('adds, renames and removes; accepts both keys for the name', async ({ app, project }) => {
  const first = (await app.get('/api/workspaces')).body
  assert.is(first.workspaces[0].name, 'Home')
  assert.is(first.last, first.workspaces[0].path)
  assert.match(first.scratch, /workspace$/)
  const added = await app.post('/api/workspaces/add', { path: '~/project' })
  assert.equal(added.body.workspaces[1], { path: project, name: 'project', label: 'project' })
  assert.is((await app.post('/api/workspaces/add', { path: project })).status, 400)
  const renamed = await app.post('/api/workspaces/rename', { path: project, name: ' Mine ' })
  assert.equal(renamed.body.workspaces[1], { path: project, name: 'Mine', label: 'Mine' })
  await app.restart()
  assert.is((await app.get('/api/workspaces')).body.workspaces.length, 2)
  const kept = await app.post('/api/workspaces/remove', { path: `${project}/` })
  assert.is(kept.body.workspaces.length, 2)
  const removed = await app.post('/api/workspaces/remove', { path: project })
  assert.is(removed.body.workspaces.length, 1)
})

test('each profile has its own list', async ({ app, project }) => {
  const work = join(app.home, 'profiles', 'work')
  mkdirSync(work, { recursive: true })
  await app.post('/api/workspaces/add', { path: project })
  const headers = { Cookie: 'agent_profile=work' }
  const { body } = await app.get('/api/workspaces', { headers })
  assert.equal(
    body.workspaces.map(({ name }: { name: string }) => name),
    ['Home'],
  )
  const own = join(work, 'workspace')
  mkdirSync(own)
  const added = await app.post('/api/workspaces/add', { path: own, name: ' Own ' }, { headers })
  assert.equal(added.body.workspaces[1], { path: own, name: 'Own', label: 'Own' })
  assert.is((await app.get('/api/workspaces')).body.workspaces[1].path, project)
})

test('suggestions stay in trusted places and repeat the prefix', async ({ app, project }) => {
  const ask = async (prefix: string) =>
    (await app.get(`/api/workspaces/suggest?prefix=${encodeURIComponent(prefix)}`)).body
  assert.equal(await ask('~/pro'), { suggestions: [project], prefix: '~/pro' })
  assert.equal((await ask('~/project/')).suggestions, [join(project, 'src')])
  for (const prefix of ['/etc/', '~/project/away/', '~/../', '/', '\0']) {
    const { suggestions } = await ask(prefix)
    assert.ok(
      suggestions.every((path: string) => path.startsWith(app.userHome)),
      prefix,
    )
  }
  assert.ok((await app.get('/api/workspaces/suggest')).body.suggestions.includes(app.userHome))
})

test('folders to choose from are those of trusted places', async ({ app, project }) => {
  const list = async (path: string) =>
    (await app.get(`/api/workspaces/folders?path=${encodeURIComponent(path)}`)).body
  const inside = { path: join(project, 'src'), name: 'src', is_repository: false }
  assert.equal(await list('~/project'), {
    path: project,
    parent: app.userHome,
    folders: [inside],
  })
  assert.is((await list('/etc')).path, '')
})

test('a directory listing is 404 outside of the workspace, and lists directories first', async ({
  app,
  project,
}) => {
  const made = await app.post('/api/session/new', { workspace: project })
  const id = made.body.session.session_id
  const list = (path?: string) =>
    app.get(
      `/api/list?session_id=${id}${path === undefined ? '' : `&path=${encodeURIComponent(path)}`}`,
    )
  for (const path of [
    '..',
    '/etc',
    'away',
    'away/ssl',
    'gone',
    'README.md',
    '../..',
    'src/../..',
    'a\0b',
    'loop',
    'x'.repeat(5000),
  ]) {
    const answer = await list(path)
    assert.is(answer.status, 404, path.slice(0, 50))
    assert.not.match(answer.body.error, /\/etc|\/tmp/)
  }
  assert.is((await app.get('/api/list')).status, 400)
  assert.is((await app.get('/api/list?session_id=gone00000000')).status, 404)
  const { entries, ...listed } = (await list()).body
  assert.equal(listed, { path: '.', total: 5 })
  assert.equal(
    entries.map((each: Record<string, unknown>) => `${each.type} ${each.path} ${each.size}`),
    ['dir inside null', 'dir src null', 'file away null', 'file loop null', 'file README.md 5'],
  )
  assert.equal((await list('src')).body.entries, [])
})

test('hides the state directory', async ({ app }) => {
  await app.post('/api/workspaces/add', { path: app.home })
  const made = await app.post('/api/session/new', { workspace: app.home })
  const id = made.body.session.session_id
  const { body } = await app.get(`/api/list?session_id=${id}`)
  assert.not(body.entries.some(({ name }: { name: string }) => name === 'webui'))
  assert.is((await app.get(`/api/list?session_id=${id}&path=webui`)).status, 404)
})

test.run()
