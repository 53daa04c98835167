/** The first visit over HTTP: who may set up, what is written, when a home is ready, and that nothing is ever in the way. */
import { existsSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { type AppOptions, startApp, type TestApp } from '../_app.ts'
import { createProvider } from '../_provider.ts'
import { idsOf, startLists } from '../lib/models/_lists.ts'
import { CLIENT, jwt } from '../lib/models/sign-in/_issuer.ts'

const test = suite('onboarding over HTTP')

const withApp = async (options: AppOptions, work: (app: TestApp) => Promise<void>) => {
  await using app = await startApp(options)
  await work(app)
}

/** Closes what was opened beside the service, however the test ends. */
const using = async <T extends AsyncDisposable>(
  opening: Promise<T>,
  work: (opened: T) => Promise<void>,
) => {
  await using opened = await opening
  await work(opened)
}

const setup = (app: TestApp, body: Record<string, unknown>, headers: Record<string, string> = {}) =>
  app.post('/api/onboarding/setup', body, { headers })
const systemOf = async (app: TestApp) => (await app.get('/api/onboarding/status')).body.system
const read = (app: TestApp, name: string) => readFileSync(join(app.home, name), 'utf8')
const isUntouched = (app: TestApp) =>
  !existsSync(join(app.home, '.env')) && !existsSync(join(app.home, 'config.yaml'))

const OPENAI = { provider: 'openai', model: 'gpt-5.4', api_key: 'sk-of-openai' }

test('setup from another network is rejected while sign-in is off', async () => {
  // 127.0.0.1 is a trusted proxy: what it says about the caller counts.
  const far = { 'X-Forwarded-For': '203.0.113.7', Host: 'localhost' }
  await withApp({}, async app => {
    for (const path of ['/api/onboarding/setup', '/api/onboarding/probe']) {
      const answer = await app.post(
        path,
        { ...OPENAI, base_url: 'http://127.0.0.1:9' },
        { headers: far },
      )
      assert.is(answer.status, 403)
      assert.match(answer.body.error, 'AGENT_WEBUI_ONBOARDING_OPEN=1')
    }
    assert.ok(isUntouched(app))
    const near = { 'X-Forwarded-For': '192.168.1.20', Host: 'localhost' }
    assert.is((await setup(app, OPENAI, near)).status, 200)
  })
  await withApp({ env: { AGENT_WEBUI_ONBOARDING_OPEN: 'x' } }, async app => {
    assert.is((await setup(app, OPENAI, far)).status, 200)
  })
})

test('names missing fields', async () => {
  await withApp({}, async app => {
    const custom = { provider: 'custom', model: 'm', api_key: 'sk-of-custom' }
    const cases: [Record<string, unknown>, string][] = [
      [{ provider: 'openai', api_key: 'sk-of-openai' }, 'model is required'],
      [custom, 'base_url is required for custom endpoints'],
      [{ ...custom, base_url: 'ftp://h' }, 'base_url must start with http:// or https://'],
      [{ ...OPENAI, api_key: '' }, 'OPENAI_API_KEY is required'],
      [{ ...OPENAI, api_key: 'short' }, 'API key appears too short.'],
      [{ ...OPENAI, provider: 'anthropic', api_key: '' }, 'ANTHROPIC_API_KEY is required'],
      [
        { ...custom, api_key: '', base_url: 'https://far.example/v1' },
        'OPENAI_API_KEY is required',
      ],
    ]
    for (const [body, error] of cases) {
      const answer = await setup(app, body)
      assert.is(answer.status, 400)
      assert.is(answer.body.error, error)
    }
    assert.ok(isUntouched(app))
  })
})

test('an existing config.yaml is changed only after confirmation', async () => {
  await withApp({}, async app => {
    const before = '# mine\nagent:\n  max_turns: 5 # few\n'
    writeFileSync(join(app.home, 'config.yaml'), before)
    const asked = await setup(app, OPENAI)
    assert.is(asked.status, 200)
    assert.is(asked.body.error, 'config_exists')
    assert.is(asked.body.requires_confirm, true)
    assert.type(asked.body.message, 'string')
    assert.is(read(app, 'config.yaml'), before)
    assert.not.ok(existsSync(join(app.home, '.env')))
    const done = await setup(app, { ...OPENAI, confirm_overwrite: true })
    assert.is(done.body.system.setup_state, 'ready')
    assert.ok(read(app, 'config.yaml').startsWith(before))
  })
})

test('SKIP_ONBOARDING=1 skips, and setup writes nothing', async () => {
  for (const name of ['SKIP_ONBOARDING', 'AGENT_WEBUI_SKIP_ONBOARDING']) {
    await withApp({ env: { [name]: '1' } }, async app => {
      assert.is((await app.get('/api/onboarding/status')).body.completed, true)
      const answer = await setup(app, OPENAI)
      assert.equal([answer.status, answer.body.completed], [200, true])
      assert.ok(isUntouched(app))
    })
  }
})

test('a provider outside of the table completes onboarding and writes nothing', async () => {
  await withApp({}, async app => {
    const answer = await setup(app, { provider: 'nous', model: 'x', api_key: 'sk-12345678' })
    assert.equal([answer.status, answer.body.completed], [200, true])
    assert.ok(isUntouched(app))
  })
})

test('a new home needs a provider, detects the agent, and offers the demo with all its tools', async () => {
  await withApp({}, async app => {
    const { body } = await app.get('/api/onboarding/status')
    assert.is(body.completed, false)
    assert.equal([body.system.agent_found, body.system.hermes_found], [true, true])
    assert.is(body.system.setup_state, 'needs_provider')
    assert.is(body.system.current_provider, null)
    assert.is(body.setup.current.provider, 'openrouter')
    assert.equal(
      body.setup.providers.map(({ id, quick }: { id: string; quick: boolean }) => [id, quick]),
      [
        ['openrouter', true],
        ['anthropic', false],
        ['openai', false],
        ['custom', false],
      ],
    )
    assert.is(body.models.groups[0].provider_id, 'demo')
    const created = await app.post('/api/session/new')
    const { session_id } = created.body.session
    const started = await app.post('/api/chat/start', { session_id, message: 'make a plan' })
    const turn = await app
      .events(`/api/chat/stream?stream_id=${started.body.stream_id}`)
      .until(({ event }) => event === 'stream_end')
    assert.is(turn.filter(({ event }) => event === 'warning').length, 0)
    const { body: read } = await app.get(`/api/session?session_id=${session_id}`)
    assert.match(read.session.messages.at(-1).content, 'The plan is done: 3 of 3 steps')
    const done = await app.post('/api/onboarding/complete')
    assert.is(done.body.completed, true)
    assert.is(done.body.system.setup_state, 'needs_provider')
    await app.restart()
    assert.is((await app.get('/api/onboarding/status')).body.completed, true)
  })
})

test('a successful setup writes model, address and key to their files', async () => {
  await withApp({}, async app => {
    const { body } = await setup(app, { ...OPENAI, model: 'openai/gpt-5.4' })
    assert.equal([body.completed, body.system.chat_ready], [true, true])
    assert.is(read(app, '.env'), 'OPENAI_API_KEY=sk-of-openai\n')
    assert.is(statSync(join(app.home, '.env')).mode & 0o777, 0o600)
    assert.is(
      read(app, 'config.yaml'),
      'model:\n  provider: openai\n  default: gpt-5.4\n  base_url: https://api.openai.com/v1\n',
    )
    assert.not.match(JSON.stringify(body), 'sk-of-openai')
    const router = { provider: 'openrouter', model: 'anthropic/claude-sonnet-4.6' }
    const second = { ...router, api_key: 'sk-or-12345', confirm_overwrite: true }
    assert.is((await setup(app, second)).status, 200)
    assert.is(
      read(app, 'config.yaml'),
      'model:\n  provider: openrouter\n  default: anthropic/claude-sonnet-4.6\n',
    )
    // The key is stored now: it need not be given again.
    assert.is((await setup(app, { ...router, confirm_overwrite: '1' })).status, 200)
  })
})

test('the key of a server of one’s own is offered for no other provider, and its address can be changed', async () => {
  await withApp({}, async app => {
    const base_url = 'https://far.example/v1'
    await setup(app, { provider: 'custom', model: 'm', api_key: 'sk-of-far', base_url })
    const rowOf = async (id: string) => {
      const { body } = await app.get('/api/providers')
      const row = body.providers.find((each: { id: string }) => each.id === id)
      return [row.has_key, row.base_url]
    }
    assert.equal(await rowOf('custom'), [true, base_url])
    assert.equal(await rowOf('openai'), [false, null])
    const { body } = await app.get('/api/models')
    const groups = body.groups.map(({ provider_id }: { provider_id: string }) => provider_id)
    assert.not.ok(groups.includes('openai'))
    // Where the command line, and what else shares the home, look for it.
    assert.is(read(app, '.env'), 'OPENAI_API_KEY=sk-of-far\n')

    // Removed where it was written, and typed again.
    assert.is((await app.post('/api/providers/delete', { provider: 'custom' })).status, 200)
    assert.not.match(read(app, 'config.yaml') + read(app, '.env'), 'sk-of-far')
    assert.equal(await rowOf('custom'), [false, base_url])
    await setup(app, {
      ...{ provider: 'custom', model: 'm', api_key: 'sk-of-far', base_url },
      confirm_overwrite: true,
    })

    const move = (change: Record<string, unknown>) =>
      app.post('/api/providers/address', { provider: 'custom', ...change })
    // The same server: its key stays.
    assert.is((await move({ base_url: 'https://far.example/v2' })).status, 200)
    assert.match(read(app, 'config.yaml'), 'api_key: sk-of-far')
    assert.equal(await rowOf('custom'), [true, 'https://far.example/v2'])
    // Another one does not get it.
    assert.is((await move({ base_url: 'https://near.example/v1' })).status, 200)
    assert.not.match(read(app, 'config.yaml') + read(app, '.env'), 'sk-of-far')
    assert.equal(await rowOf('custom'), [false, 'https://near.example/v1'])
    await move({ base_url: 'https://near.example/v1', api_key: 'sk-of-near' })
    assert.equal(await rowOf('custom'), [true, 'https://near.example/v1'])
    // A key of OpenAI beside it.
    await app.post('/api/providers', { provider: 'openai', api_key: 'sk-of-openai' })
    assert.equal(await rowOf('openai'), [true, null])
    assert.equal(await rowOf('custom'), [true, 'https://near.example/v1'])
    for (const [change, status] of [
      [{ base_url: 'ftp://h' }, 400],
      [{ provider: 'openai', base_url }, 400],
      [{ base_url, api_key: 'x' }, 400],
    ] as const)
      assert.is((await move(change)).status, status, JSON.stringify(change))
    assert.match(read(app, 'config.yaml'), 'api_key: sk-of-near')
  })
})

test('a key of .env that the command line shares does not go to another server unasked', async () => {
  await withApp({}, async app => {
    writeFileSync(join(app.home, '.env'), 'OPENAI_API_KEY=sk-of-far\n')
    const config = 'model:\n  provider: custom\n  default: m\n  base_url: https://far.example/v1\n'
    writeFileSync(join(app.home, 'config.yaml'), config)
    const { status } = await app.post('/api/providers/address', {
      provider: 'custom',
      base_url: 'https://near.example/v1',
    })
    assert.equal([status, read(app, 'config.yaml')], [400, config])
  })
})

test('a server of one’s own is called by its host until a person names it', async () => {
  await withApp({}, async app => {
    const base_url = 'https://far.example/v1'
    writeFileSync(
      join(app.home, 'config.yaml'),
      `model:\n  provider: custom\n  default: m\n  base_url: ${base_url}\n  api_key: sk-of-far\n`,
    )
    const shown = async () => {
      const { providers } = (await app.get('/api/providers')).body
      return providers.find(({ id }: { id: string }) => id === 'custom').display_name
    }
    const name = (name: string) =>
      app.post('/api/providers/address', { provider: 'custom', base_url, name })
    assert.is(await shown(), 'far.example')
    assert.is((await name('Company gateway')).status, 200)
    assert.is(await shown(), 'Company gateway')
    assert.is((await name(' ')).status, 200)
    assert.is(await shown(), 'far.example')
  })
})

test('the address of a named server is changed in its entry', async () => {
  await withApp({}, async app => {
    const server = { name: 'Box', base_url: 'http://127.0.0.1:9/v1', model: 'm', use: true }
    await app.post('/api/providers/self-hosted', server)
    const { status } = await app.post('/api/providers/address', {
      provider: 'custom:box',
      base_url: 'http://127.0.0.1:10/v1',
    })
    assert.is(status, 200)
    assert.not.match(read(app, 'config.yaml'), '127.0.0.1:9/')
    assert.match(read(app, 'config.yaml'), '127.0.0.1:10/')
  })
})

test('a server does not get the key of the one before it, wherever that is written', async () => {
  const row =
    'custom_providers:\n  - name: Box\n    base_url: https://far.example/v1\n    model: m\n'
  const own = 'model:\n  provider: custom\n  default: m\n  base_url: https://far.example/v1\n'
  for (const [provider, config] of [
    ['custom:box', `${row}    key_env: KEY_OF_FAR\n`],
    ['custom:box', `${row}    api_key_env: KEY_OF_FAR\n`],
    ['custom:box', `${row}    api_key: sk-of-far\n`],
    ['custom:box', `${row}${own.replace('custom', 'custom:box')}  api_key: sk-of-far\n`],
    ['custom', `${own}  api: sk-of-far\n`],
    ['custom', `${own}providers:\n  custom:\n    api_key: sk-of-far\n`],
    ['custom', `${own}providers:\n  custom:\n    key_env: KEY_OF_FAR\n`],
  ] as const)
    await withApp({}, async app => {
      writeFileSync(join(app.home, '.env'), 'KEY_OF_FAR=sk-of-far\n')
      writeFileSync(join(app.home, 'config.yaml'), config)
      const base_url = 'https://near.example/v1'
      const { status } = await app.post('/api/providers/address', { provider, base_url })
      const written = read(app, 'config.yaml')
      assert.is(status, 200, written)
      assert.match(written, base_url)
      assert.not.match(written, /sk-of-far|KEY_OF_FAR/, config)
    })
})

test('keeps an existing OpenAI key when a custom endpoint has its own', async () => {
  await withApp({}, async app => {
    writeFileSync(join(app.home, '.env'), 'OPENAI_API_KEY=sk-of-openai\n')
    const base_url = 'https://far.example/v1'
    const answer = await setup(app, {
      provider: 'custom',
      model: 'm',
      api_key: 'sk-of-far',
      base_url,
    })
    assert.is(answer.body.system.chat_ready, true)
    assert.is(read(app, '.env'), 'OPENAI_API_KEY=sk-of-openai\n')
    assert.match(read(app, 'config.yaml'), 'api_key: sk-of-far')
  })
})

test('a key stored for one provider’s model is not used for a new provider', async () => {
  await withApp({}, async app => {
    writeFileSync(
      join(app.home, 'config.yaml'),
      'model: {provider: deepseek, default: deepseek-reasoner, api_key: sk-of-deepseek}\n',
    )
    await setup(app, { ...OPENAI, confirm_overwrite: true })
    const { model, providers } = (await import('yaml')).parse(read(app, 'config.yaml'))
    assert.is(model.api_key, undefined)
    assert.is(providers.deepseek.api_key, 'sk-of-deepseek')
  })
})

type Files = Record<string, unknown>
/** The state of a home with these files, and whether that is as expected. */
const STATES: [state: string, ...homes: Files[]][] = [
  [
    'ready',
    ...[
      { providers: { 'openai-codex': { access_token: 'x-token' } } },
      { providers: { 'openai-codex': { tokens: { refresh_token: 'x-token' } } } },
      { credential_pool: { 'openai-codex': [{}, { api_key: 'x-token' }] } },
      { credential_pool: { 'openai-codex': [{ tokens: { access_token: 'x-token' } }] } },
    ].map(auth => signedIn(auth)),
    modelOf('provider: openai, default: m, api_key: sk-of-model'),
    {
      'config.yaml': 'model: {provider: xai, default: m}\nproviders: {xai: {api_key: sk-of-xai}}\n',
    },
    {
      ...modelOf('provider: custom, default: m, base_url: "https://far.example/v1"'),
      '.env': 'OPENAI_API_KEY=sk-12345\n',
    },
    // A server on one's own machine wants no key.
    modelOf('provider: custom, default: m, base_url: "http://127.0.0.1:9/v1"'),
  ],
  [
    'provider_incomplete',
    // Broken, of another kind, or of another provider: it fails closed.
    ...[
      '{"providers": {"openai-codex": {"access_token": "x-token"',
      '[]',
      'null',
      {},
      { providers: { 'openai-codex': { access_token: ' ' } } },
      { providers: { nous: { access_token: 'x-token' } } },
      { credential_pool: { 'openai-codex': [] } },
      { credential_pool: { 'openai-codex': 'x' } },
    ].map(auth => signedIn(auth)),
    modelOf('provider: openai, default: m'),
    {
      ...modelOf('provider: anthropic, default: m'),
      '.env': 'OPENAI_API_KEY=sk-12345\n',
    },
    modelOf('provider: custom, default: m, base_url: "https://far.example/v1"'),
  ],
  ['needs_provider', modelOf('provider: openai')],
]
function modelOf(text: string): Files {
  return { 'config.yaml': `model: {${text}}\n` }
}
function signedIn(auth: unknown): Files {
  return { ...modelOf('provider: openai-codex, default: gpt-5.4'), 'auth.json': auth }
}
test('the state of a home: its files decide, now', () =>
  withApp({}, async app => {
    for (const [state, ...homes] of STATES)
      for (const files of homes) {
        for (const name of ['config.yaml', 'auth.json', '.env'])
          rmSync(join(app.home, name), { force: true })
        for (const [name, content] of Object.entries(files))
          writeFileSync(
            join(app.home, name),
            typeof content === 'string' ? content : JSON.stringify(content),
          )
        const { setup_state: found } = await systemOf(app)
        assert.is(found, state, JSON.stringify(files))
      }
  }))

test('an expired sign-in that cannot be renewed is not ready, and says what to do', async () => {
  const expired = jwt({ client_id: CLIENT, exp: Math.floor(Date.now() / 1_000) - 60 })
  const key = { id: 'a', auth_type: 'api_key', access_token: 'a-pooled-key' }
  await withApp({}, async app => {
    const config = 'model: {provider: openai-codex, default: gpt-5.4}\n'
    writeFileSync(join(app.home, 'config.yaml'), config)
    const stateOf = async (tokens: Record<string, unknown>, more: Record<string, unknown> = {}) => {
      const auth = { providers: { 'openai-codex': { tokens } }, ...more }
      writeFileSync(join(app.home, 'auth.json'), JSON.stringify(auth))
      const { body } = await app.get('/api/providers')
      const row = body.providers.find(({ id }: { id: string }) => id === 'openai-codex')
      const system = await systemOf(app)
      assert.equal([row.needs_sign_in, row.has_key], [!system.chat_ready, system.chat_ready])
      return system
    }
    const { setup_state: state, provider_note: note } = await stateOf({ access_token: expired })
    assert.is(state, 'provider_incomplete')
    assert.match(note, 'OpenAI Codex has expired')
    assert.match(note, 'Sign in again with the command line')
    assert.ok((await stateOf({ access_token: expired, refresh_token: 'r-token' })).chat_ready)
    const pool = { credential_pool: { 'openai-codex': [key] } }
    assert.ok((await stateOf({ access_token: expired }, pool)).chat_ready)
  })
})

test('lists the models of an address with the typed key and stores nothing', async () => {
  await using(startLists(idsOf('a-model')), async lists =>
    withApp({}, async app => {
      writeFileSync(join(app.home, '.env'), 'OPENAI_API_KEY=sk-stored-key\n')
      const probe = (body: Record<string, unknown>) =>
        app.post('/api/onboarding/probe', {
          provider: 'custom',
          base_url: `${lists.url}/v1`,
          ...body,
        })
      const { body } = await probe({ api_key: 'sk-typed-key' })
      assert.equal([body.ok, body.models], [true, [{ id: 'a-model', label: 'A Model' }]])
      assert.is(lists.asked[0]?.headers.authorization, 'Bearer sk-typed-key')
      await probe({})
      assert.is(lists.asked[1]?.headers.authorization, undefined)
      lists.answer = { status: 401 }
      const refused = await probe({ api_key: 'sk-typed-key' })
      assert.equal([refused.status, refused.body.ok], [200, false])
      assert.match(refused.body.error, 'rejected the key')
      assert.is((await probe({ base_url: 'file:///etc/passwd' })).status, 400)
      assert.is(read(app, '.env'), 'OPENAI_API_KEY=sk-stored-key\n')
      assert.not.ok(existsSync(join(app.home, 'config.yaml')))
    }),
  )
})

test('the endpoint set up by onboarding answers the first message', async () => {
  await using(createProvider({ text: 'Hello from there' }), async scripted =>
    withApp({}, async app => {
      scripted.models = ['m']
      await setup(app, {
        provider: 'custom',
        model: 'm',
        api_key: 'sk-of-mine',
        base_url: scripted.url,
      })
      const made = await app.post('/api/session/new')
      const { session_id } = made.body.session
      const answer = await app.post('/api/chat', { session_id, message: 'Hi' })
      assert.is(answer.body.answer, 'Hello from there')
      assert.is(scripted.requests[0]?.headers.authorization, 'Bearer sk-of-mine')
    }),
  )
})

test.run()
