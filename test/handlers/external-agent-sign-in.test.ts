/** An agent to which nobody is signed in: what it says, the ways that it offers, and what happens after one of them. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { acceptSettings, startApp } from '../_app.ts'
import { bundleProgram } from '../_program.ts'

const test = suite('signing in to external agents')

const AGENT = bundleProgram(join(import.meta.dirname, '../_acp-agent.ts'))
const ROUTE = '/api/session/agent/sign-in'

const start = async (traits: string, said = '') => {
  const app = await startApp({ env: { ACP_TEST: `signed-out ${traits}`, ACP_TEST_SAID: said } })
  const state = join(app.userHome, 'agent-state.json')
  writeFileSync(join(app.home, '.env'), `ACP_TEST_STATE=${state}\n`)
  writeFileSync(
    join(app.home, 'config.yaml'),
    JSON.stringify({
      checkpoints: { enabled: false },
      providers: {
        tester: { name: 'Tester', acp_command: process.execPath, acp_args: [AGENT] },
        gone: { name: 'Gone', acp_command: '/nowhere/agent' },
      },
    }),
  )
  await acceptSettings(app)
  const create = async (model: string): Promise<string> =>
    (await app.post('/api/session/new', { model })).body.session.session_id
  const session_id = await create('@acp:tester')
  return {
    app,
    state,
    create,
    session_id,
    open: async () => (await app.post('/api/session/agent/open', { session_id })).body,
    view: async () => (await app.get(`/api/session/agent?session_id=${session_id}`)).body,
    signIn: (method: string) => app.post(ROUTE, { session_id, method }),
    async send(message: string) {
      const { stream_id } = (await app.post('/api/chat/start', { session_id, message })).body
      for await (const { event } of app.events(`/api/chat/stream?stream_id=${stream_id}`))
        if (event === 'stream_end') break
      return (await app.get(`/api/session?session_id=${session_id}`)).body.session.messages.at(-1)
    },
  }
}

test('a button: the agent signs in by itself, and its session is open', async () => {
  const at = await start('')
  try {
    assert.is((await at.view()).sign_in, null)
    const failed = await at.send('hello')
    assert.match(failed.content, 'Tester is not signed in.')
    const wanted = {
      said: '',
      methods: [{ id: 'login', name: 'Web login', description: 'run "tester login"', command: '' }],
    }
    assert.equal((await at.view()).sign_in, wanted)
    const tried = await at.open()
    assert.equal([tried.is_open, tried.sign_in], [false, wanted])
    assert.is((await at.signIn('other')).status, 400)
    const done = await at.signIn('login')
    assert.equal([done.status, done.body.is_open, done.body.sign_in], [200, true, null])
    assert.is((await at.send('hello')).content, 'Hello there.')
  } finally {
    await at.app.close()
  }
})

test('a command: it is shown, never called, and counts once it was run', async () => {
  const at = await start('terminal-login')
  try {
    const { sign_in } = await at.open()
    const commands = sign_in.methods.map(({ id, command }: Record<string, string>) => [id, command])
    assert.equal(commands, [
      ['login', ''],
      ['cli', `X=1 ${process.execPath} ${AGENT} --login 'a b'`],
      ['other', '/opt/x auth login'],
    ])
    for (const method of ['cli', 'other']) assert.is((await at.signIn(method)).status, 400, method)
    writeFileSync(`${at.state}.login`, '')
    const opened = await at.open()
    assert.equal([opened.is_open, opened.sign_in], [true, null])
  } finally {
    await at.app.close()
  }
})

test('its own sentence is kept; a sign-in that fails says why', async () => {
  const own = 'Please run `tester login` first.'
  const at = await start('refuses-login', own)
  try {
    const failed = await at.send('hello')
    assert.match(failed.content, own)
    assert.is((await at.view()).sign_in.said, own)
    const refused = await at.signIn('login')
    assert.is(refused.body.code, 'agent_failed')
    assert.match(refused.body.values.reason, 'no browser')
    const listed = await at.app.get(`/api/session/agent/sessions?session_id=${at.session_id}`)
    assert.is(listed.status, 200)
  } finally {
    await at.app.close()
  }
})

test('a program that is missing is named, whatever is asked of it', async () => {
  const at = await start('')
  try {
    const session_id = await at.create('@acp:gone')
    for (const [path, input] of [
      ['open', {}],
      ['adopt', { agent_session_id: 'x' }],
      ['sign-in', { method: 'x' }],
    ] as const) {
      const { body } = await at.app.post(`/api/session/agent/${path}`, { session_id, ...input })
      assert.is(body.code, 'agent_not_installed', path)
    }
    const { stream_id } = (await at.app.post('/api/chat/start', { session_id, message: 'x' })).body
    for await (const { event } of at.app.events(`/api/chat/stream?stream_id=${stream_id}`))
      if (event === 'stream_end') break
    const { messages } = (await at.app.get(`/api/session?session_id=${session_id}`)).body.session
    assert.match(messages.at(-1).content, '/nowhere/agent')
    assert.not.match(messages.at(-1).content, 'key')
  } finally {
    await at.app.close()
  }
})

test.run()
