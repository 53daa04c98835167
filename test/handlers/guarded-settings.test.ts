/** The agent cannot loosen its own guard: what something else than a person in the page writes into config.yaml waits. */
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp } from '../_app.ts'
import { createTestClock } from '../_clock.ts'
import { createProvider } from '../_provider.ts'

const test = suite<{ chat: Chat }>('guarded settings over HTTP')

const start = async (config = '') => {
  const provider = await createProvider()
  const clock = createTestClock()
  // Not in config.yaml, where an address waits as well.
  const env = { OPENAI_BASE_URL: provider.url }
  const app = await startApp({ guardsConfig: true, clock, env })
  const model = `model:\n  provider: custom\n  default: test-model\n`
  const path = (profile = 'default') =>
    profile === 'default'
      ? join(app.home, 'config.yaml')
      : join(app.home, 'profiles', profile, 'config.yaml')
  /** What a program of the agent does: the file, without the service. */
  const write = (yaml: string, profile?: string) => writeFileSync(path(profile), `${model}${yaml}`)
  write(config)
  if (config !== '') {
    // As at the first start of this version.
    await app.restart(() => {
      rmSync(join(app.state, 'accepted-settings.json'))
      truncateSync(join(app.state, '.signing_key'), 32)
    })
  }
  const look = async (profile = 'default') =>
    (await app.get('/api/config/problems', as(profile))).body.changed
  const settle = async (accept: boolean, profile = 'default') => {
    const { change_id } = await look(profile)
    return app.post('/api/guards/changes', { change_id, accept }, as(profile))
  }
  /** Runs `command` in a new chat. `denied`: it was asked about; nobody allowed it. */
  const run = async (command: string, { profile = 'default', choice = 'deny' } = {}) => {
    provider.otherwise = body => {
      if (!body.tools?.length) return { text: 'A title' }
      return body.messages.at(-1).role === 'tool'
        ? { text: 'Done.' }
        : { toolCalls: [{ id: 'c1', name: 'terminal', arguments: { command } }] }
    }
    const { body } = await app.post('/api/session/new', {}, as(profile))
    const { session_id } = body.session
    const started = await app.post('/api/chat/start', { session_id, message: 'go' }, as(profile))
    assert.is(started.status, 200, JSON.stringify(started.body))
    let isAsked = false
    for await (const event of app.events(`/api/chat/stream?stream_id=${started.body.stream_id}`)) {
      if (event.event === 'approval') {
        isAsked = true
        const { approval_id } = event.data
        await app.post('/api/approval/respond', { session_id, approval_id, choice })
      }
      if (event.event === 'stream_end') break
    }
    const result = provider.requests
      .map(({ body: sent }) => sent.messages.at(-1))
      .findLast(message => message.role === 'tool')
    return { isAsked, result: String(result?.content) }
  }
  return {
    app,
    clock,
    write,
    path,
    look,
    settle,
    run,
    [Symbol.asyncDispose]() {
      return this.close()
    },
    async close() {
      await app.close()
      await provider.close()
    },
  }
}
type Chat = Awaited<ReturnType<typeof start>>

const as = (profile: string) => ({ headers: { cookie: `agent_profile=${profile}` } })

/** The directory is made first, so that the command has something to delete. */
const asks = async ({ app, run }: Chat, profile = 'default'): Promise<boolean> => {
  const victim = join(app.userHome, `victim-${profile}`)
  mkdirSync(victim, { recursive: true })
  const { isAsked } = await run(`rm -rf ${victim}`, { profile })
  assert.is(existsSync(victim), isAsked)
  return isAsked
}

const OFF = 'approvals:\n  mode: "off"\n'

test.before.each(async state => {
  state.chat = await start()
})
test.after.each(({ chat }) => chat.close())

const LOOSENING = [
  OFF,
  'permissions:\n  allow: ["Bash(rm:*)", "terminal(*)", "*"]\n',
  'command_allowlist: ["recursive delete", "delete in root path", "recursive delete in home"]\n',
]

test('what a file says that no person confirmed does not apply, in any profile', async ({
  chat,
}) => {
  assert.is(
    (await chat.app.post('/api/profile/create', { name: 'other', clone_config: true })).status,
    200,
  )
  for (const profile of ['default', 'other'])
    for (const yaml of LOOSENING) {
      chat.write(yaml, profile)
      assert.ok(await asks(chat, profile), `${profile}: ${yaml}`)
      assert.is((await chat.look(profile)).profile, profile)
    }
})

test('a command of the agent that was allowed once does not loosen anything', async ({ chat }) => {
  const { path, run } = chat
  const helper = join(chat.app.userHome, 'helper.py')
  writeFileSync(helper, `open(${JSON.stringify(path())}, 'a').write(${JSON.stringify(OFF)})`)
  const ways = [
    `printf 'approvals:\\n  mode: "off"\\n' >> ${path()}`,
    `python3 ${helper}`,
    `sed -i -e '$a approvals: {mode: "off"}' ${path()}`,
    `cp ${path()} /tmp/x.$$ && echo 'approvals: {mode: "off"}' >> /tmp/x.$$ && mv /tmp/x.$$ ${path()}`,
  ]
  for (const way of ways) {
    chat.write('')
    await run(way, { choice: 'once' })
    assert.match(readFileSync(path(), 'utf8'), /mode: "off"/, way)
    assert.ok(await asks(chat), way)
  }
})

test('the change is shown, pushed, logged, and recorded once', async ({ chat }) => {
  const { app, clock, write, look } = chat
  write(`${OFF}mcp_servers:\n  evil:\n    command: sh\n    env: {TOKEN: topsecretvalue}\n`)
  await clock.advance(4_000)
  const changed = await look()
  assert.equal(
    changed.changes.map(({ key, accepted, now }: Record<string, unknown>) => [key, accepted, now]),
    [
      ['approvals.mode', null, '"off"'],
      ['mcp_servers.evil', null, '{"command":"sh","env":{"TOKEN":"…"}}'],
    ],
  )
  assert.is(app.lines.filter(line => line.includes('which nobody confirmed')).length, 1)
  const audit = readFileSync(join(app.state, 'audit.jsonl'), 'utf8')
  assert.is(audit.split('config.yaml changed approvals.mode, mcp_servers.evil').length, 2)
  assert.is((await app.get('/api/mcp/servers')).body.servers.length, 0)
})

test('accepted, it applies, also after a restart; something else has to be accepted again', async ({
  chat,
}) => {
  const { app, write, look, settle } = chat
  write(OFF)
  assert.is((await settle(true)).status, 200)
  assert.is(await look(), null)
  assert.not.ok(await asks(chat))
  await app.restart()
  assert.not.ok(await asks(chat))
  assert.match(
    readFileSync(join(app.state, 'audit.jsonl'), 'utf8'),
    /changes of config.yaml accepted/,
  )
  assert.is(statSync(join(app.state, 'accepted-settings.json')).mode & 0o777, 0o600)
  write(`${OFF}permissions:\n  allow: ["terminal(rm *)"]\n`)
  assert.is((await look()).changes.length, 1)
})

test('restored, the file has the values in force again', async ({ chat }) => {
  const { path, write, look, settle } = chat
  write(`${OFF}sandbox: true\nhooks: {PreToolUse: [{command: ./x}]}\n`)
  assert.is((await settle(false)).status, 200)
  assert.is(await look(), null)
  const text = readFileSync(path(), 'utf8')
  assert.not.match(text, /off|hooks/)
  assert.match(text, /sandbox: true/)
})

test('what was shown must be what is there', async ({ chat }) => {
  const { app, write, look } = chat
  write(OFF)
  const { change_id } = await look()
  write(`${OFF}command_allowlist: [a]\n`)
  const { status, body } = await app.post('/api/guards/changes', { change_id, accept: true })
  assert.equal([status, body.code], [409, 'guard_changed'])
  assert.ok(await asks(chat))
})

test('a change waits over a restart and while the service is down', async ({ chat }) => {
  const { app, write, look } = chat
  write(OFF)
  await app.restart()
  assert.ok(await asks(chat))
  write('')
  await app.restart(() => write(OFF))
  assert.ok(await look())
  assert.ok(await asks(chat))
})

test('a change that tightens applies at once, and the looser value then needs a person', async () => {
  await using chat = await start(OFF)
  assert.not.ok(await asks(chat))
  chat.write('')
  assert.ok(await asks(chat))
  await chat.clock.advance(6_000)
  chat.write(OFF)
  assert.ok(await asks(chat))
  chat.write('permissions:\n  deny: ["terminal(echo *)"]\n')
  assert.match((await chat.run('echo hello')).result, /permissions\.deny/)
  await chat.clock.advance(6_000)
  chat.write('')
  assert.match((await chat.run('echo hello')).result, /permissions\.deny/)
})

test('what a person changes in the page applies at once, and nothing that waits', async ({
  chat,
}) => {
  const { app, write, look, run } = chat
  write('command_allowlist: [waiting]\n')
  const add = (list: string, rule: string) => app.post('/api/permissions', { list, add: rule })
  assert.is((await add('deny', 'terminal(echo *)')).status, 200)
  assert.match((await run('echo hello')).result, /permissions\.deny/)
  assert.equal(
    (await look()).changes.map(({ key }: { key: string }) => key),
    ['command_allowlist'],
  )
})

test('a profile that appears without the page starts with the strict defaults', async ({
  chat,
}) => {
  const { app, write, settle } = chat
  mkdirSync(join(app.home, 'profiles', 'made'), { recursive: true })
  write(OFF, 'made')
  assert.ok(await asks(chat, 'made'))
  await app.restart()
  assert.ok(await asks(chat, 'made'))
  assert.is((await settle(true, 'made')).status, 200)
  assert.not.ok(await asks(chat, 'made'))
})

test('a copied profile has what was accepted for its source, not what waits there', async ({
  chat,
}) => {
  const { app, write, settle } = chat
  write(OFF)
  const create = (name: string) => app.post('/api/profile/create', { name, clone_config: true })
  await create('early')
  assert.ok(await asks(chat, 'early'))
  await settle(true)
  await create('late')
  assert.not.ok(await asks(chat, 'late'))
})

test('a file of confirmed settings that another program wrote accepts nothing', async ({
  chat,
}) => {
  const { app, write, look, settle } = chat
  const path = join(app.state, 'accepted-settings.json')
  const forged = (text: string) =>
    text.replace('"default": {}', '"default": {"approvals": {"mode": "off"}}')
  write(OFF)
  for (const text of [forged(readFileSync(path, 'utf8')), '{', '[]', '']) {
    await app.restart(() => writeFileSync(path, text))
    assert.ok(await asks(chat), text)
    assert.ok(app.lines.some(line => line.includes(`${path} cannot be used`)))
  }
  await app.restart(() => rmSync(path))
  assert.ok(await asks(chat), 'removed')
  assert.ok(await look())
  assert.is((await settle(true)).status, 200)
  assert.not.ok(await asks(chat))
  await app.restart()
  assert.not.ok(await asks(chat))
})

test('hooks that a damaged file says nothing of do not run, so commands are refused', async () => {
  await using chat = await start('hooks:\n  PreToolUse:\n    - command: "true"\n')
  assert.not.match((await chat.run('echo hello')).result, /Refused/)
  const path = join(chat.app.state, 'accepted-settings.json')
  await chat.app.restart(() => writeFileSync(path, '{'))
  assert.match((await chat.run('echo hello')).result, /Refused because of|Refused because/)
  await chat.settle(true)
  assert.not.match((await chat.run('echo hello')).result, /Refused/)
})

test('without its file a running service keeps what was confirmed, and writes it again', async ({
  chat,
}) => {
  const { app, clock, write } = chat
  const path = join(app.state, 'accepted-settings.json')
  rmSync(path)
  write(OFF)
  assert.ok(await asks(chat))
  await clock.advance(4_000)
  assert.ok(existsSync(path))
  assert.ok(await asks(chat))
})

test('a first address elsewhere waits, and a change of the provider does not confirm it', async ({
  chat,
}) => {
  const { app, path, run, look, settle } = chat
  const elsewhere = () =>
    writeFileSync(path(), `${readFileSync(path(), 'utf8')}  base_url: https://b.example/v1\n`)
  elsewhere()
  // The answer comes from the address in force.
  assert.match((await run('echo hello')).result, /hello/)
  assert.equal(
    (await look()).changes.map(({ key }: { key: string }) => key),
    ['model.base_url'],
  )
  assert.is((await settle(false)).status, 200)
  assert.not.match(readFileSync(path(), 'utf8'), /base_url/)
  elsewhere()
  const picked = await app.post('/api/default-model', { model: '@openai:gpt-5.4' })
  assert.is(picked.status, 200, JSON.stringify(picked.body))
  assert.not.match(readFileSync(path(), 'utf8'), /b\.example/)
})

test('addresses that a person enters in the page are confirmed by that', async ({ chat }) => {
  const { app, path, look } = chat
  const url = 'http://127.0.0.1:9/v1'
  const endpoint = { name: 'Mine', base_url: url, model: 'm', use: true }
  const added = await app.post('/api/providers/self-hosted', endpoint)
  assert.is(added.status, 200, JSON.stringify(added.body))
  const created = await app.post('/api/profile/create', {
    name: 'other',
    clone_config: true,
    base_url: 'http://127.0.0.1:10/v1',
  })
  assert.is(created.status, 200, JSON.stringify(created.body))
  assert.match(readFileSync(path('other'), 'utf8'), /127\.0\.0\.1:10/)
  assert.is(await look(), null)
  assert.is(await look('other'), null)
})

test('a request that does not say what was shown confirms nothing', async ({ chat }) => {
  const { app, write } = chat
  write(OFF)
  assert.is((await app.post('/api/guards/changes', { accept: true })).status, 400)
  assert.is((await app.post('/api/guards/changes', { change_id: 'x', accept: true })).status, 409)
  appendFileSync(chat.path(), '\n')
  assert.ok(await asks(chat))
})

test.run()
