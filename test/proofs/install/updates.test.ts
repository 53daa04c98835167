/** Updates over HTTP against real git repositories: checked, and applied with every outcome. */
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../../_app.ts'
import { createRepositories, GIT_ENV, type Repositories, writeFiles } from '../../_git.ts'

/** A build that says what it built, or what is wrong with it. */
const SETUP = (fails = '') => `import { appendFileSync } from 'node:fs'
appendFileSync('built.log', process.argv.slice(2).join(' ') + '\\n')
${fails && `console.error('${fails}'); process.exit(1)`}
`
const FILES = {
  'router.ts': '// one\n',
  'setup.mjs': SETUP(),
  'notes.txt': 'a\nb\nc\n',
  '.gitignore': 'built.log\n',
}

type Context = { app: TestApp; ours: Repositories; agent: Repositories; calls: () => string[] }

/** `git` on the PATH, counted; its way to the real one is as every caller's. */
const countingGit = (dir: string) => {
  mkdirSync(dir)
  const log = join(dir, 'calls')
  writeFileSync(
    join(dir, 'git'),
    `#!/bin/sh\nPATH='${GIT_ENV.PATH}'; export PATH\necho "$1" >> '${log}'\nexec git "$@"\n`,
  )
  chmodSync(join(dir, 'git'), 0o755)
  const all = () => (existsSync(log) ? readFileSync(log, 'utf8').trim().split('\n') : [])
  // At start the version of the sources under test is asked for.
  return () => all().filter(call => call !== 'describe')
}

const test = suite<Context>('updates')
test.before.each(async context => {
  context.ours = createRepositories(FILES)
  context.agent = createRepositories({ 'pyproject.toml': '' })
  const bin = join(context.ours.root, 'bin')
  context.calls = countingGit(bin)
  context.app = await startApp({
    checkout: context.ours.checkout,
    env: {
      ...GIT_ENV,
      PATH: `${bin}:${GIT_ENV.PATH}`,
      AGENT_WEBUI_AGENT_DIR: context.agent.checkout,
    },
  })
})
test.after.each(async ({ app, ours, agent }) => {
  await app.close()
  ours.remove()
  agent.remove()
})

const apply = async (app: TestApp, body: unknown = { target: 'webui' }) =>
  (await app.post('/api/updates/apply', body)).body

test('check_for_updates false: returns {disabled:true} and runs no git', async ({ app, calls }) => {
  await app.post('/api/settings', { check_for_updates: false })
  assert.equal((await app.get('/api/updates/check')).body, { disabled: true })
  assert.equal((await app.get('/api/updates/check?force=1')).body, { disabled: true })
  assert.equal(calls(), [])
})

test('honors the test flag only for loopback clients', async ({ app, calls }) => {
  for (const flag of ['test_updates=1', 'simulate=1']) {
    const { body } = await app.get(`/api/updates/check?${flag}`)
    assert.equal([body.webui.behind, body.agent.behind, body.checked_at], [3, 1, 0])
  }
  assert.equal(calls(), [])
  const headers = { 'X-Forwarded-For': '203.0.113.9' }
  const { body } = await app.get('/api/updates/check?test_updates=1', { headers })
  assert.is(body.webui.behind, 0)
  assert.ok(calls().includes('fetch'))
})

test('a check returns how far webui and agent are behind, is cached for half an hour, and runs once at a time', async ({
  app,
  ours,
  agent,
  calls,
}) => {
  const was = ours.head()
  ours.push({ 'notes.txt': '1' })
  const now = ours.push({ 'notes.txt': '2' })
  const [first, second] = await Promise.all([
    app.get('/api/updates/check'),
    app.get('/api/updates/check?force=1'),
  ])
  assert.equal(first.body, second.body)
  const { webui, agent: theirs, checked_at } = first.body
  assert.equal([webui.name, webui.behind, webui.branch], ['webui', 2, 'origin/main'])
  assert.ok(was.startsWith(webui.current_sha) && now.startsWith(webui.latest_sha))
  assert.equal([theirs.name, theirs.behind], ['agent', 0])
  assert.ok(checked_at > 1e9)
  assert.is(calls().filter(call => call === 'fetch').length, 2, 'one fetch a checkout')
  agent.push({ 'x.py': '' })
  assert.equal((await app.get('/api/updates/check')).body, first.body)
  assert.is((await app.get('/api/updates/check?force=1')).body.agent.behind, 1)
  assert.is((await app.request('HEAD', '/api/updates/check')).status, 405)
})

test('skips the check without .git and reports a failed fetch', async ({ app, ours, agent }) => {
  rmSync(join(ours.checkout, '.git'), { recursive: true })
  rmSync(agent.remote, { recursive: true })
  const { body } = await app.get('/api/updates/check')
  assert.is(body.webui, null)
  assert.equal(body.agent, { name: 'agent', behind: 0, error: 'fetch failed' })
})

test('without an upstream, compares with the default branch of the remote', async ({
  app,
  ours,
}) => {
  ours.git('checkout', '--quiet', '--detach')
  ours.push({ 'notes.txt': '1' })
  const { webui } = (await app.get('/api/updates/check')).body
  assert.equal([webui.behind, webui.branch], [1, 'origin/main'])
  assert.match((await apply(app)).message, /follows no branch/)
})

test('apply rejects another target and a directory that is no repository', async ({
  app,
  ours,
}) => {
  for (const body of [{}, { target: 'all' }, { target: 7 }]) {
    for (const path of ['/api/updates/apply', '/api/updates/force']) {
      const answer = await app.post(path, body)
      assert.equal([answer.status, answer.body.error], [400, 'target must be "webui" or "agent"'])
    }
  }
  rmSync(join(ours.checkout, '.git'), { recursive: true })
  const { status, body } = await app.post('/api/updates/apply', { target: 'webui' })
  assert.is(status, 200)
  assert.equal(
    [body.ok, body.message, body.error],
    [false, 'Not a git repository', 'Not a git repository'],
  )
})

test('webui: pulls, builds, keeps local changes, restarts two seconds later', async ({
  app,
  ours,
}) => {
  const wanted = ours.push({ 'notes.txt': 'a\nb\nc\nd\n' })
  writeFiles(ours.checkout, { 'router.ts': '// mine\n', 'new.txt': 'untracked' })
  await app.get('/api/updates/check')
  const body = await apply(app)
  assert.equal(body, {
    ok: true,
    message: 'Updated; restarting',
    target: 'webui',
    code: 'done',
    restart_scheduled: true,
  })
  assert.is(ours.head(), wanted)
  assert.is(readFileSync(join(ours.checkout, 'router.ts'), 'utf8'), '// mine\n')
  assert.is(ours.git('stash', 'list'), '')
  assert.is(readFileSync(join(ours.checkout, 'built.log'), 'utf8'), 'build.mjs --quiet\n')
  assert.equal(app.restarts, [])
  assert.is((await app.get('/api/updates/check')).body.webui.behind, 0, 'the cache is dropped')
})

test('agent: pulls without restarting the service', async ({ app, ours, agent }) => {
  const wanted = agent.push({ 'x.py': '' })
  const body = await apply(app, { target: 'agent' })
  assert.equal([body.ok, body.target, body.restart_scheduled], [true, 'agent', false])
  assert.is(agent.head(), wanted)
  assert.not.ok(existsSync(join(ours.checkout, 'built.log')))
  assert.is((await apply(app, { target: 'agent' })).message, 'Already up to date')
})

test('rejects a second update while one runs', async ({ app, ours }) => {
  ours.push({ 'notes.txt': 'd' })
  const [first, second] = await Promise.all([apply(app), apply(app, { target: 'agent' })])
  assert.is(first.ok, true)
  assert.equal([second.ok, second.message], [false, 'Update already in progress'])
})

test('conflict: leaves unresolved paths alone', async ({ app, ours }) => {
  ours.push({ 'notes.txt': 'theirs\n' })
  writeFiles(ours.checkout, { 'notes.txt': 'ours\n' })
  ours.git('commit', '--quiet', '-am', 'ours')
  ours.git('fetch', '--quiet')
  assert.throws(() => ours.git('merge', 'origin/main'))
  const before = ours.status()
  const body = await apply(app)
  assert.equal([body.ok, body.conflict], [false, true])
  assert.is(ours.status(), before)
})

test('diverged: changes nothing and restores local changes', async ({ app, ours }) => {
  ours.push({ 'notes.txt': 'theirs\n' })
  writeFiles(ours.checkout, { 'other.txt': 'ours\n' })
  ours.git('add', '-A')
  ours.git('commit', '--quiet', '-m', 'ours')
  writeFiles(ours.checkout, { 'router.ts': '// mine\n' })
  const head = ours.head()
  const body = await apply(app)
  assert.equal([body.ok, body.diverged], [false, true])
  assert.is(ours.head(), head)
  assert.is(readFileSync(join(ours.checkout, 'router.ts'), 'utf8'), '// mine\n')
  assert.is(ours.git('stash', 'list'), '')
})

test('a failed fetch changes nothing', async ({ app, ours }) => {
  rmSync(ours.remote, { recursive: true })
  const body = await apply(app)
  assert.is(body.ok, false)
  assert.match(body.message, /^Fetch failed/)
})

test('conflicting local changes stay in the stash and the checkout still runs', async ({
  app,
  ours,
}) => {
  const wanted = ours.push({ 'notes.txt': 'theirs\n' })
  writeFiles(ours.checkout, { 'notes.txt': 'mine\n' })
  const body = await apply(app)
  assert.equal([body.ok, body.stash_conflict], [false, true])
  // The running version is that of the checkout: built and restarted.
  assert.is(body.restart_scheduled, true)
  assert.is(readFileSync(join(ours.checkout, 'built.log'), 'utf8').trim().split('\n').length, 1)
  assert.equal([ours.head(), ours.status()], [wanted, ''])
  assert.match(ours.git('stash', 'show', '-p'), /\+mine/)
})

test('does not start a version that does not build, keeping local changes', async ({
  app,
  ours,
}) => {
  const head = ours.head()
  const broken = ours.push({ 'setup.mjs': SETUP('the new one is broken') })
  writeFiles(ours.checkout, { 'notes.txt': 'mine\n' })
  const body = await apply(app)
  assert.equal([body.ok, body.code, body.restart_scheduled], [false, 'not_built', undefined])
  assert.equal(body.values, { reason: 'the new one is broken' })
  assert.is((await app.get('/health')).status, 200)
  // The checkout is that of the version that runs, with its local changes, and the update is offered again.
  assert.is(ours.head(), head)
  assert.is(readFileSync(join(ours.checkout, 'notes.txt'), 'utf8'), 'mine\n')
  const { body: found } = await app.get('/api/updates/check')
  assert.equal([found.webui.behind, found.webui.latest_sha], [1, broken.slice(0, 7)])
})

test('force discards local changes and commits', async ({ app, ours, agent }) => {
  const wanted = ours.push({ 'notes.txt': 'theirs\n' })
  writeFiles(ours.checkout, { 'notes.txt': 'mine\n' })
  ours.git('commit', '--quiet', '-am', 'ours')
  writeFiles(ours.checkout, { 'notes.txt': 'mine again\n' })
  const { body } = await app.post('/api/updates/force', { target: 'webui' })
  assert.equal([body.ok, body.restart_scheduled], [true, true])
  assert.equal([ours.head(), ours.status()], [wanted, ''])
  writeFiles(agent.checkout, { 'pyproject.toml': '# mine\n' })
  assert.is((await apply(app, { target: 'agent', force: true })).ok, true)
  assert.is(agent.status(), '')
})

test.run()
