/** What members and viewers get and may not do: lists, events, approvals, workspaces, and requests that try to get around their role. */
import { chmodSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { accountOf } from '../../lib/people/sign-ins.ts'
import { startApp, type TestApp } from '../_app.ts'
import { git } from '../_git.ts'
import { PASSWORD, peopleIn, removePerson, setPerson, signIn } from '../_people.ts'

type Headers = { headers: { cookie: string } }
type Context = { app: TestApp; owner: Headers; member: Headers; viewer: Headers; dir: string }

const test = suite<Context>('people')
test.before(async context => {
  const app = await startApp({ env: { AGENT_WEBUI_PASSWORD: PASSWORD } })
  await setPerson(app, { name: 'Mia', role: 'member', profiles: ['team'] })
  await setPerson(app, { name: 'Vera', role: 'viewer', profiles: ['team'] })
  const owner = await signIn(app)
  await app.post('/api/profile/create', { name: 'team' }, owner)
  context.dir = join(app.userHome, 'work')
  mkdirSync(context.dir)
  Object.assign(context, { app, owner })
  context.member = await signIn(app, 'Mia')
  context.viewer = await signIn(app, 'Vera')
  const cookie = `${owner.headers.cookie}; agent_profile=team`
  await app.post('/api/workspaces/add', { path: context.dir }, { headers: { cookie } })
})
test.after(({ app }) => app.close())

const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [
  status,
  body.code,
]
const REFUSED = [403, 'role_not_allowed']
const CONTROL = [403, 'control_file']
const NO_SESSION = [404, 'session_not_found']

/** A chat with a message, so that it is listed. */
const newChat = async (
  { app, owner, dir }: Context,
  profile: string,
  text: string,
): Promise<string> => {
  const headers = { cookie: `${owner.headers.cookie}; agent_profile=${profile}` }
  const messages = [{ role: 'user', content: `We talk of ${text}` }]
  const given = { title: `About ${text}`, messages, workspace: profile === 'team' ? dir : '' }
  return (await app.post('/api/session/import', given, { headers })).body.session.session_id
}

test('a page of one person is refused requests once another is signed in, whatever their role', async context => {
  const { app, owner, member, viewer } = context
  const key = readFileSync(join(app.state, '.signing_key'))
  const { people } = JSON.parse(readFileSync(join(app.state, 'people.json'), 'utf8'))
  const idOf = (name: string) => people.find((each: { name: string }) => each.name === name).id
  const accounts = [accountOf(key), accountOf(key, idOf('Mia')), accountOf(key, idOf('Vera'))]
  assert.is(new Set(accounts).size, 3)
  const [, , ofViewer = ''] = accounts
  const page = (who: Headers) => ({ headers: { ...who.headers, 'x-agent-account': ofViewer } })
  const OTHER = [409, 'other_account']
  assert.equal(codeOf(await app.post('/api/session/new', {}, page(member))), OTHER)
  assert.equal(codeOf(await app.get('/api/settings', page(owner))), OTHER)
  assert.equal(codeOf(await app.get('/api/auth/status', page(owner))), OTHER)
  assert.is((await app.get('/api/sessions', page(viewer))).status, 200)
  assert.is((await app.get('/api/sessions', page(await signIn(app, 'Vera')))).status, 200)
  assert.equal(codeOf(await app.post('/api/session/new', {}, page(viewer))), REFUSED)
  // Not 403: the page of the member has to reload when the viewer has signed in.
  const late = { headers: { ...viewer.headers, 'x-agent-account': accounts[1] ?? '' } }
  assert.equal(codeOf(await app.post('/api/session/new', {}, late)), OTHER)
})

test('who was given no profile gets a refusal that says so, also of the event stream', async ({
  app,
}) => {
  await setPerson(app, { name: 'Nina', role: 'member' })
  const nina = await signIn(app, 'Nina')
  for (const path of ['/api/events', '/api/events?watch=abc'])
    assert.equal(codeOf(await app.get(path, nina)), [403, 'no_profile'], path)
  removePerson(app, 'Nina')
})

test('lists, search and usage leave out what was not given', async context => {
  const { app, owner, viewer } = context
  const mine = await newChat(context, 'team', 'apricots')
  const secret = await newChat(context, 'default', 'apricots too')
  const ids = async (path: string, who: Headers) =>
    (await app.get(path, who)).body.sessions.map((row: { session_id: string }) => row.session_id)
  for (const path of [
    '/api/sessions',
    '/api/sessions?limit=10',
    '/api/sessions/search?q=',
    '/api/sessions/search?q=apricots',
    '/api/sessions/search?q=about',
  ]) {
    assert.equal(await ids(path, viewer), [mine], path)
    assert.equal((await ids(path, owner)).length, 2, path)
  }
  const hidden = await app.get('/api/sessions?profile=default', viewer)
  assert.equal(codeOf(hidden), [404, 'profile_not_found'])
  const named = async (path: string, key: string, who: Headers) =>
    (await app.get(path, who)).body[key].map((each: { name: string }) => each.name)
  assert.equal(await named('/api/profiles', 'profiles', viewer), ['team'])
  assert.equal((await app.get('/api/profile/active', viewer)).body.name, 'team')
  const report = (await app.get('/api/insights', viewer)).body
  assert.ok(report.profiles.every((each: { profile: string }) => each.profile === 'team'))
  assert.ok(report.totals.sessions === 0)
  assert.equal(codeOf(await app.get(`/api/session?session_id=${secret}`, viewer)), NO_SESSION)
  const { project } = (await app.post('/api/projects/create', { name: 'Secret' }, owner)).body
  const { project_id } = project
  assert.equal(await named('/api/projects', 'projects', viewer), [])
  const move = { session_id: mine, project_id }
  assert.is((await app.post('/api/session/move', move, context.member)).status, 404)
  await app.post('/api/session/move', move, owner)
  assert.equal(await named('/api/projects', 'projects', viewer), ['Secret'])
})

test('the event stream has only events of the profiles given, also after a reconnect', async context => {
  const { app, owner, member } = context
  const secret = await newChat(context, 'default', 'plums')
  const mine = await newChat(context, 'team', 'pears')
  const stream = app.events(`/api/events?watch=${secret},${mine}`, member)
  const ready = await stream.until(({ event }) => event === 'ready')
  const first = ready.at(-1)?.id
  const rename = (session_id: string, title: string) =>
    app.post('/api/session/rename', { session_id, title }, owner)
  await rename(secret, 'Plum secret')
  await app.post('/api/session/delete', { session_id: secret }, owner)
  await rename(mine, 'Pears, renamed')
  const isLast = ({ data }: { data: Record<string, unknown> }) =>
    JSON.stringify(data).includes('Pears, renamed')
  const live = await stream.until(isLast)
  stream.close()
  const again = app.events(`/api/events?after=${first}&watch=${secret}`, member)
  const replayed = await again.until(isLast)
  again.close()
  for (const seen of [live, replayed]) {
    const text = JSON.stringify(seen)
    assert.not.ok(text.includes('Plum') || text.includes(secret))
  }
})

test('a demotion, and the removal of a person, end their streams', async ({ app }) => {
  for (const change of [
    () => setPerson(app, { name: 'Dora', role: 'viewer', profiles: ['team'] }),
    () => setPerson(app, { name: 'Dora', role: 'member', profiles: ['other'] }),
    async () => removePerson(app, 'Dora'),
  ]) {
    await setPerson(app, { name: 'Dora', role: 'member', profiles: ['team'] })
    const who = await signIn(app, 'Dora')
    const reply = await fetch(`${app.url}/api/events`, who)
    const reader = reply.body!.getReader()
    await reader.read()
    await change()
    while (!(await reader.read()).done);
  }
  assert.is(
    (await app.post('/api/auth/login', { name: 'Dora', password: 'Dora password' })).status,
    401,
  )
})

test('a viewer answers nothing, and a member not what an owner decides', async context => {
  const { app, owner, member, viewer } = context
  const session_id = await newChat(context, 'team', 'approvals')
  const inject = () => app.post('/api/approval/inject_test', { session_id }, owner)
  await inject()
  const answer = (choice: string, who: Headers, more = {}) =>
    app.post('/api/approval/respond', { session_id, choice, ...more }, who)
  assert.equal(codeOf(await answer('once', viewer)), REFUSED)
  assert.equal(codeOf(await answer('deny', viewer)), REFUSED)
  assert.equal(codeOf(await answer('always', member)), REFUSED)
  assert.equal(codeOf(await answer('session', member, { scope: 'profile' })), REFUSED)
  assert.equal(codeOf(await app.post('/api/session/yolo', { session_id }, member)), REFUSED)
  assert.ok((await answer('once', member)).body.accepted)
  const off = { session_id, enabled: false }
  assert.is((await app.post('/api/session/yolo', off, member)).status, 200)
  const pending = await app.get(`/api/approval/pending?session_id=${session_id}`, viewer)
  assert.is(pending.body.pending, null)
  const file = join(app.state, 'sessions', `${session_id}.jsonl`)
  assert.match(readFileSync(file, 'utf8'), /"by":"Mia \(127\.0\.0\.1\)"/)
})

test('a member stays in the workspaces of the profile', async context => {
  const { app, dir, member } = context
  const other = join(app.userHome, 'private')
  mkdirSync(other)
  writeFileSync(join(other, 'diary.txt'), 'secret')
  symlinkSync(other, join(dir, 'link'))
  const session_id = await newChat(context, 'team', 'files')
  for (const workspace of [other, app.userHome, join(dir, 'link'), join(dir, '..', 'private')]) {
    const given = [
      ['/api/session/new', { workspace }],
      ['/api/session/update', { session_id, workspace }],
      ['/api/chat/start', { session_id, message: 'hello', workspace }],
    ] as const
    for (const [path, body] of given)
      assert.equal(codeOf(await app.post(path, body, member)), [403, 'path_not_allowed'], path)
    const facts = `/api/workspaces/facts?path=${encodeURIComponent(workspace)}`
    assert.equal(codeOf(await app.get(facts, member)), [403, 'path_not_allowed'])
  }
  assert.is((await app.post('/api/session/new', { workspace: dir }, member)).status, 200)
  const read = await app.get(`/api/file?session_id=${session_id}&path=link/diary.txt`, member)
  assert.ok(read.status >= 400)
  const messages = [{ role: 'user', content: 'hello' }]
  const imported = await app.post(
    '/api/session/import',
    { messages, workspace: other, profile: 'default', yolo: true, enabled_toolsets: ['terminal'] },
    member,
  )
  const { session } = imported.body
  assert.equal([session.workspace, session.profile], [dir, 'team'])
  const file = readFileSync(join(app.state, 'sessions', `${session.session_id}.jsonl`), 'utf8')
  assert.not.match(file, /yolo|enabled_toolsets/)
})

test('chats are not moved, copied or restored into or out of another profile', async context => {
  const { app, owner, member } = context
  const secret = await newChat(context, 'default', 'moves')
  const mine = await newChat(context, 'team', 'moves')
  const post = async (path: string, body: object) => codeOf(await app.post(path, body, member))
  for (const path of ['duplicate', 'branch', 'retry', 'clear', 'delete', 'move', 'pin'])
    assert.equal(await post(`/api/session/${path}`, { session_id: secret }), NO_SESSION, path)
  const changed = { session_id: mine, profile: 'default' }
  assert.equal(await post('/api/session/update', changed), [404, 'profile_not_found'])
  assert.equal(await post('/api/session/new', { profile: 'TEAM' }), [400, 'invalid_request'])
  assert.equal(await post('/api/profile/switch', { name: 'default' }), [404, 'profile_not_found'])
  assert.equal(await post('/api/profile/switch', { name: 'Team' }), [400, 'invalid_profile_name'])
  await app.post('/api/session/delete', { session_id: secret }, owner)
  assert.equal(await post('/api/session/restore', { session_id: secret }), NO_SESSION)
  assert.equal(
    await post('/api/session/delete', { session_id: secret, permanent: true }),
    NO_SESSION,
  )
  assert.equal(await post('/api/session/delete', { session_id: mine, permanent: true }), REFUSED)
  assert.equal((await app.post('/api/session/delete', { session_id: mine }, member)).status, 200)
  assert.equal((await app.post('/api/session/restore', { session_id: mine }, member)).status, 200)
  const restored = await app.post('/api/session/restore', { session_id: secret }, owner)
  assert.is(restored.status, 200)
})

test('a cookie with another profile is not followed, and the profile of the server stays', async context => {
  const { app, owner, member } = context
  const { cookie } = member.headers
  const headers = { cookie: `${cookie}; agent_profile=default` }
  const active = await app.get('/api/profile/active', { headers })
  assert.is(active.body.name, 'team')
  assert.match(String(active.headers['set-cookie']), /agent_profile=team/)
  const made = await app.post('/api/session/new', {}, { headers })
  assert.is(made.body.session.profile, 'team')
  assert.is((await app.post('/api/profile/switch', { name: 'team' }, member)).status, 200)
  assert.is((await app.get('/api/profile/active', owner)).body.name, 'default')
})

test('a task of a member has no script and no other address of a model', async ({
  app,
  member,
  owner,
}) => {
  const task = { prompt: 'look', schedule: 'every 2h' }
  const create = (more: object, who: Headers) =>
    app.post('/api/crons/create', { ...task, ...more }, who)
  assert.equal(codeOf(await create({ script: 'run.sh' }, member)), REFUSED)
  assert.equal(codeOf(await create({ base_url: 'http://127.0.0.1:1' }, member)), REFUSED)
  const { job } = (await create({ script: '' }, member)).body
  const update = { job_id: job.id, base_url: 'http://127.0.0.1:1' }
  assert.equal(codeOf(await app.post('/api/crons/update', update, member)), REFUSED)
  const same = { job_id: job.id, prompt: 'look again', script: '', base_url: '' }
  assert.is((await app.post('/api/crons/update', same, member)).status, 200)
  // It belongs to the profile of the member.
  const update2 = { job_id: job.id, prompt: 'no' }
  assert.is((await app.post('/api/crons/update', update2, owner)).status, 404)
})

test('the folder that the owner used last is not that of a profile without one', async context => {
  const { app, owner } = context
  const other = join(app.userHome, 'owned')
  mkdirSync(other)
  await app.post('/api/profile/create', { name: 'fresh' }, owner)
  await app.post('/api/workspaces/add', { path: other }, owner)
  const { session } = (await app.post('/api/session/new', { workspace: other }, owner)).body
  const used = { session_id: session.session_id, workspace: other }
  await app.post('/api/session/update', used, owner)
  await setPerson(app, { name: 'Finn', role: 'member', profiles: ['fresh'] })
  const finn = await signIn(app, 'Finn')
  const made = await app.post('/api/session/new', {}, finn)
  assert.is(made.status, 200)
  assert.is.not(made.body.session.workspace, other)
  assert.equal(codeOf(await app.post('/api/session/new', { workspace: other }, finn)), [
    403,
    'path_not_allowed',
  ])
})

test('a member does not change the script of a hook, which runs without approval', async context => {
  const { app, dir, member, owner } = context
  const session_id = await newChat(context, 'team', 'scripts')
  const script = join(dir, 'tools', 'check.sh')
  mkdirSync(join(dir, 'tools'))
  writeFileSync(script, 'true\n')
  symlinkSync(script, join(dir, 'linked.sh'))
  const profile = join(app.home, 'profiles', 'team')
  const hooks = { pre_tool_call: [{ command: script }] }
  writeFileSync(join(profile, 'config.yaml'), `hooks: ${JSON.stringify(hooks)}\n`)
  const post = (name: string, given: object, who = member) =>
    app.post(`/api/file/${name}`, { session_id, ...given }, who)
  for (const [name, given] of [
    ['save', { path: 'tools/check.sh', content: 'false' }],
    ['save', { path: 'tools/../linked.sh', content: 'false' }],
    ['delete', { path: 'tools/check.sh' }],
    ['delete', { path: 'tools', recursive: true }],
    ['rename', { path: 'tools', new_name: 'old' }],
    ['rename', { path: 'tools/other.sh', new_name: 'check.sh' }],
    ['move', { path: 'check.sh', dest_dir: 'tools' }],
  ] as const)
    assert.equal(codeOf(await post(name, given)), CONTROL, `${name} ${JSON.stringify(given)}`)
  assert.is(readFileSync(script, 'utf8'), 'true\n')
  assert.is((await post('create', { path: 'tools/other.sh', content: 'a' })).status, 200)
  assert.is((await post('save', { path: 'tools/other.sh', content: 'b' })).status, 200)
  assert.is((await post('save', { path: 'tools/check.sh', content: 'b' }, owner)).status, 200)
  writeFileSync(join(profile, 'config.yaml'), '')
})

test('a member commits, but runs no hooks: they are outside the sandbox', async context => {
  const { app, dir, member } = context
  const session_id = await newChat(context, 'team', 'hooks')
  const at = (name: string) => join(dir, name)
  git(dir, 'init', '-q')
  writeFileSync(at('.git/hooks/pre-commit'), `#!/bin/sh\ntouch ${at('ran')}\n`)
  chmodSync(at('.git/hooks/pre-commit'), 0o755)
  writeFileSync(at('a.txt'), 'a')
  git(dir, 'add', 'a.txt')
  git(dir, 'config', 'user.name', 'a')
  git(dir, 'config', 'user.email', 'a@example.invalid')
  const commit = (hooks?: string) =>
    app.post('/api/git/commit', { session_id, message: 'one', hooks }, member)
  const asked = await commit()
  assert.equal(codeOf(asked), [409, 'git_hooks'])
  const { id } = asked.body.hooks
  assert.equal(codeOf(await commit(id)), REFUSED)
  const push = { session_id, hooks: id }
  assert.equal(codeOf(await app.post('/api/git/push', push, member)), REFUSED)
  assert.not.ok(existsSync(at('ran')))
  assert.is((await commit('skip')).status, 200)
  assert.not.ok(existsSync(at('ran')))
})

test('a file that was still arriving when its sender became a viewer is not stored', async context => {
  const { app, dir } = context
  await setPerson(app, { name: 'Ugo', role: 'member', profiles: ['team'] })
  const { headers } = await signIn(app, 'Ugo')
  const session_id = await newChat(context, 'team', 'uploads')
  const { promise, resolve, reject } = Promise.withResolvers<number | undefined>()
  const req = request(`${app.url}/api/upload`, {
    method: 'POST',
    headers: {
      ...headers,
      'Content-Type': 'multipart/form-data; boundary=xyz',
      Expect: '100-continue',
    },
  })
  req.on('response', res => resolve(res.resume().statusCode)).on('error', reject)
  req.on('continue', () => {
    void setPerson(app, { name: 'Ugo', role: 'viewer', profiles: ['team'] }).then(() => {
      const field = '--xyz\r\nContent-Disposition: form-data; name='
      req.write(`${field}"session_id"\r\n\r\n${session_id}\r\n`)
      req.end(`${field}"file"; filename="late.txt"\r\n\r\nlate\r\n--xyz--\r\n`)
    }, reject)
  })
  req.flushHeaders()
  const status = await promise
  assert.is(status, 403)
  assert.not.ok(existsSync(join(dir, 'late.txt')))
  removePerson(app, 'Ugo')
})

test('output of a terminal that was waited for does not reach a person who is no owner any more', async context => {
  const { app, owner } = context
  await setPerson(app, { name: 'Ole', role: 'owner' })
  const ole = await signIn(app, 'Ole')
  const session_id = await newChat(context, 'team', 'terminals')
  const size = { cols: 80, rows: 24 }
  const made = await app.post('/api/terminal/open', { session_id, ...size }, owner)
  const one = { session_id, terminal_id: made.body.terminal.terminal_id, client: 'tab' }
  const read = (after: number, who: Headers) =>
    app.post('/api/terminal/read', { ...one, after }, who)
  const type = (n: number, data: string) =>
    app.post('/api/terminal/input', { ...one, n, data }, owner)
  await type(1, "stty -echo; exec sh -c 'echo rea''dy; cat'\n")
  let [text, next] = ['', 0]
  while (!/ready\r?\n$/.test(text)) {
    const { body } = await read(next, owner)
    text += body.text
    next = body.next
  }
  const waiting = read(next, ole).then(
    ({ status, body }) => [status, body.code],
    () => 'ended',
  )
  // Its request was sent before this one.
  await read(0, ole)
  await setPerson(app, { name: 'Ole', role: 'member', profiles: ['team'] })
  await type(2, 'secret\n')
  const answer = await waiting
  // Either the reply is refused, or the connection was ended before it.
  if (answer !== 'ended') assert.equal(answer, REFUSED)
  await app.post('/api/terminal/close', one, owner)
  removePerson(app, 'Ole')
})

test('people see and sign out their own devices', async ({ app, owner, member, viewer }) => {
  type Device = { id: string; current: boolean; person?: string }
  const devices = async (who: Headers): Promise<Device[]> =>
    (await app.get('/api/auth/devices', who)).body.devices
  const own = (await devices(viewer)).find(({ current }) => current)!
  assert.ok((await devices(member)).every(({ person }) => person === 'Mia'))
  assert.ok((await devices(owner)).some(({ person }) => person === 'Vera'))
  for (const [path, body] of [
    ['/api/auth/revoke', { id: own.id }],
    ['/api/auth/device/rename', { id: own.id, name: 'Mine' }],
  ] as const)
    assert.is((await app.post(path, body, member)).status, 404)
  await app.post('/api/auth/revoke', { others: true }, member)
  assert.is((await app.get('/api/settings', viewer)).body.person.role, 'viewer')
  assert.is((await app.get('/api/settings', member)).body.person.name, 'Mia')
  await app.post('/api/auth/revoke', { id: own.id }, owner)
  assert.is((await app.get('/api/settings', viewer)).status, 401)
})

test('an invitation works once, for a day; the person signs in with their name and their own password', async context => {
  const { app, owner, member } = context
  const made = { name: 'Nina', role: 'member', profiles: ['team'] }
  assert.equal(codeOf(await app.post('/api/people/invite', made, member)), REFUSED)
  assert.is(
    (await app.post('/api/people/invite', { ...made, profiles: ['no'] }, owner)).status,
    404,
  )
  const taken = await app.post('/api/people/invite', { ...made, name: ' mia' }, owner)
  assert.equal(codeOf(taken), [409, 'name_taken'])
  const { code, id } = (await app.post('/api/people/invite', made, owner)).body
  const stored = readFileSync(join(app.state, 'people.json'), 'utf8')
  assert.not.ok(stored.includes(code) || app.lines.join().includes(code))
  const accept = (given: string, password = 'nina secret') =>
    app.post('/api/people/accept', { code: given, password })
  assert.equal(codeOf(await accept('x'.repeat(27))), [401, 'invitation_expired'])
  assert.is((await accept(code, '')).status, 400)
  const replies = await Promise.all([accept(code), accept(code), accept(code)])
  assert.equal(replies.map(({ status }) => status).toSorted(), [200, 401, 401])
  const joined = replies.find(({ status }) => status === 200)!
  const nina = { headers: { cookie: (joined.headers['set-cookie']?.[0] ?? '').split(';')[0]! } }
  assert.is((await app.get('/api/settings', nina)).body.person.name, 'Nina')
  const login = (name: string, password: string) => app.post('/api/auth/login', { name, password })
  assert.is((await login('nina', 'nina secret')).status, 200)
  // Names and passwords belong together.
  for (const [name, password] of [
    ['nina', PASSWORD],
    ['', 'nina secret'],
  ] as const)
    assert.is((await login(name, password)).status, 401)
  const changed = await app.post('/api/people/password', { password: 'second secret' }, nina)
  assert.is(changed.status, 200)
  assert.is((await app.get('/api/settings', nina)).status, 200)
  assert.is((await login('Nina', 'nina secret')).status, 401)
  const renewed = (await app.post('/api/people/renew', { id }, owner)).body
  assert.is((await accept(renewed.code, 'third secret')).status, 200)
  assert.is((await app.get('/api/settings', nina)).status, 401)
  const { entries } = (await app.get('/api/auth/audit', owner)).body
  const invited = entries.find(({ what }: { what: string }) => what === 'person-invited')
  assert.ok(invited.person && !JSON.stringify(entries).includes(code))
})

test('an invitation is accepted with a passkey or the provider only as this server has them', async context => {
  const { app, owner } = context
  const made = { name: 'Nora', role: 'member', profiles: ['team'] }
  const { code, id } = (await app.post('/api/people/invite', made, owner)).body
  const host = { host: 'agent.example.net' }
  const options = (given: string, headers: Record<string, string> = host) =>
    app.post('/api/people/accept/passkey/options', { code: given }, { headers })
  assert.equal(codeOf(await options('x'.repeat(27))), [401, 'invitation_expired'])
  assert.equal(codeOf(await options(code, {})), [400, 'passkey_no_host'])
  const { body } = await options(code)
  assert.equal([body.rp.id, body.user.name], ['agent.example.net', 'Nora'])
  const response = { clientDataJSON: '', attestationObject: '' }
  const key = { id: 'AAAA', rawId: 'AAAA', type: 'public-key', response }
  const join = (given: string) =>
    app.post('/api/people/accept/passkey', { code: given, response: key }, { headers: host })
  assert.equal(codeOf(await join('x'.repeat(27))), [401, 'invitation_expired'])
  assert.equal(codeOf(await join(code)), [400, 'passkey_rejected'])
  const provider = await app.post('/api/people/accept/provider', { code })
  assert.is(provider.status, 404)
  // The invitation is as it was.
  const person = peopleIn(app).find(each => each.id === id)
  assert.ok(person?.invitation && (person.passkeys as []).length === 0)
  await app.post('/api/people/remove', { id }, owner)
  assert.equal(codeOf(await options(code)), [401, 'invitation_expired'])
})

test('the first owner stays an owner; a removed person is signed out', async ({ app, owner }) => {
  const { people } = (await app.get('/api/people', owner)).body
  const first = people.find((each: { first: boolean }) => each.first)
  const change = (body: object) => app.post('/api/people/change', body, owner)
  assert.equal(codeOf(await change({ id: first.id, role: 'viewer' })), [409, 'first_owner'])
  const removal = await app.post('/api/people/remove', { id: first.id }, owner)
  assert.equal(codeOf(removal), [409, 'first_owner'])
  await setPerson(app, { name: 'Rita', role: 'viewer', profiles: ['team'] })
  const rita = await signIn(app, 'Rita')
  assert.is((await change({ id: 'rita', role: 'owner' })).status, 200)
  assert.is((await app.get('/api/people', rita)).status, 200)
  // The password of the server is the first owner's alone.
  const other = { _set_password: 'taken over', _current_password: 'Rita password' }
  assert.equal(codeOf(await app.post('/api/settings', other, rita)), REFUSED)
  await app.post('/api/people/remove', { id: 'rita' }, owner)
  assert.is((await app.get('/api/people', rita)).status, 401)
  assert.is((await change({ id: 'rita', role: 'viewer' })).status, 404)
})

test.run()
