/** The environment and the command line as a value, and the sentences for what is wrong with them. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { readConfig } from '../../lib/config.ts'

const test = suite('config')
const HOME = '/home/me'
const read = (env: Record<string, string | undefined> = {}, argv: string[] = []) =>
  readConfig({ HOME, ...env }, argv)

test('rejects a misspelled setting and suggests the right one', () => {
  assert.throws(
    () => read({ AGENT_WEBUI_PASWORD: 'x' }),
    'AGENT_WEBUI_PASWORD is not a setting of agent-webui; did you mean AGENT_WEBUI_PASSWORD?',
  )
  assert.throws(() => read({ AGENT_WEBUI_STATEDIR: '' }), 'did you mean AGENT_WEBUI_STATE_DIR?')
  assert.throws(() => read({ AGENT_WEBUI_: '1' }), /is not a setting/)
})

test('rejects invalid ports, options and combinations', () => {
  for (const port of ['x', '-1', '65536', '80.5', '1e3', '0x50']) {
    assert.throws(
      () => read({ AGENT_WEBUI_PORT: port }),
      `AGENT_WEBUI_PORT must be a port from 0 to 65535, not "${port}"`,
    )
  }
  assert.throws(() => read({}, ['abc']), 'The port must be a port')
  for (const argv of [['--port', '1'], ['1', '2'], ['-x'], ['--no-browser=1']])
    assert.throws(() => read({}, argv), /is not an option. Usage:/)
  for (const argv of [['--host'], ['--host=']])
    assert.throws(() => read({}, argv), '--host needs an address')
  assert.throws(() => read({ AGENT_WEBUI_TLS_CERT: '/c' }), 'must be set together')
  for (const entry of ['proxy', '10.0.0.0/33', '::/129', '10.0.0.0/8/8', '10.0.0.0/', '1.2.3']) {
    assert.throws(
      () => read({ AGENT_WEBUI_TRUSTED_PROXIES: `127.0.0.1,${entry}` }),
      `not "${entry}"`,
    )
  }
})

test('rejects a provider that is incomplete or not encrypted', () => {
  const full = {
    AGENT_WEBUI_OIDC_ISSUER: 'https://login.example.com/realm',
    AGENT_WEBUI_OIDC_CLIENT_ID: 'agent',
  }
  const rejections: [Record<string, string>, string][] = [
    [{ AGENT_WEBUI_OIDC_ISSUER: '' }, 'must be set together'],
    [{ AGENT_WEBUI_OIDC_CLIENT_ID: '' }, 'must be set together'],
    [{ AGENT_WEBUI_OIDC_ISSUER: 'login.example.com' }, 'not "login.example.com"'],
    [{ AGENT_WEBUI_OIDC_ISSUER: 'http://login.example.com' }, 'http is only allowed'],
    [{ AGENT_WEBUI_OIDC_ISSUER: 'https://me@login.example.com' }, 'must be a URL'],
    [{ AGENT_WEBUI_OIDC_ISSUER: 'https://login.example.com?x' }, 'must be a URL'],
    [{ AGENT_WEBUI_OIDC_SCOPES: 'email profile' }, 'must contain "openid"'],
    [
      { AGENT_WEBUI_OIDC_CLIENT_SECRET: 'x', AGENT_WEBUI_OIDC_CLIENT_SECRET_FILE: '/x' },
      'cannot both be set',
    ],
  ]
  for (const [change, said] of rejections) assert.throws(() => read({ ...full, ...change }), said)
  assert.is(read().oidc, null)
  const { oidc } = read(full)
  assert.equal([oidc?.name, oidc?.scopes], ['login.example.com', 'openid email profile'])
})

test('rejects a user header that others set too, or that anyone could send', () => {
  const proxies = { AGENT_WEBUI_TRUSTED_PROXIES: '127.0.0.1' }
  for (const name of [
    'Cookie',
    'Host',
    'Authorization',
    'X-Forwarded-For',
    'Remote_User',
    'a b',
    'x-',
  ])
    assert.throws(
      () => read({ ...proxies, AGENT_WEBUI_AUTH_HEADER: name }),
      `like Remote-User, not "${name}"`,
    )
  assert.throws(() => read({ AGENT_WEBUI_AUTH_HEADER: 'Remote-User' }), 'needs AGENT_WEBUI_TRUSTED')
  for (const path of ['agent', '//host', '/a/../b', '/a?b', '/a b', 'https://host/agent'])
    assert.throws(
      () => read({ AGENT_WEBUI_BASE_PATH: path }),
      `AGENT_WEBUI_BASE_PATH must be a path like /agent, not "${path}"`,
    )
  for (const [path, base] of [
    ['/', ''],
    ['/agent/', '/agent'],
    [' /a.b/c~d ', '/a.b/c~d'],
  ])
    assert.is(read({ AGENT_WEBUI_BASE_PATH: path! }).basePath, base)
  assert.is(read(proxies).authHeader, null)
  const { authHeader } = read({ ...proxies, AGENT_WEBUI_AUTH_HEADER: 'Tailscale-User-Login' })
  assert.is(authHeader, 'tailscale-user-login')
})

test('the cluster: its database is named once, directly or as a file', () => {
  const cluster = (env: Record<string, string>) =>
    read(
      Object.fromEntries(
        Object.entries(env).map(([name, value]) => [`AGENT_WEBUI_CLUSTER_${name}`, value]),
      ),
    ).cluster
  const wrong: [Record<string, string>, string][] = [
    [{ URL: 'postgres://db/agent', URL_FILE: '/run/url' }, 'cannot both be set'],
    [{ URL: 'db.example' }, 'must be the address of a PostgreSQL database'],
    [{ CELL: 'anna' }, 'AGENT_WEBUI_CLUSTER_CELL needs AGENT_WEBUI_CLUSTER_URL'],
    [{ URL_FILE: '/run/url', CELL: 'a b' }, 'must be a name'],
  ]
  for (const [env, why] of wrong) assert.throws(() => cluster(env), why)
  assert.equal(
    [cluster({})?.url, cluster({ URL: 'postgres://db/agent' })?.urlFile],
    [undefined, null],
  )
  const { url, urlFile, cell } = cluster({ URL_FILE: '/run/url' }) ?? {}
  assert.equal([url, urlFile, cell], [null, '/run/url', 'default'])
})

test('defaults', () => {
  const config = read()
  assert.equal(
    [config.host, config.port, config.botName, config.openBrowser],
    ['127.0.0.1', 8787, 'Agent', true],
  )
  assert.equal(
    [config.baseHome, config.agentHome, config.stateDir],
    ['/home/me/.agent', '/home/me/.agent', '/home/me/.agent/webui'],
  )
  assert.equal(
    [config.password, config.defaultWorkspace, config.agentDir, config.configPath, config.tlsCert],
    [null, null, null, null, null],
  )
  assert.equal([config.defaultModel, config.modelOverride], ['', ''])
  assert.equal(
    [config.skipOnboarding, config.onboardingOpen, config.autoInstall],
    [false, false, false],
  )
  assert.equal([config.allowedOrigins, config.trustedProxies], [[], ['127.0.0.0/8', '::1']])
  assert.ok(Object.isFrozen(config) && Object.isFrozen(config.env))
})

test('blank is the same as unset', () => {
  const { HOME: _, ...names } = {
    HOME,
    AGENT_WEBUI_PORT: ' ',
    AGENT_WEBUI_HOST: '',
    AGENT_WEBUI_PASSWORD: '  ',
    AGENT_HOME: '',
    AGENT_BASE_HOME: ' ',
    AGENT_WEBUI_TLS_KEY: '',
  }
  const config = read(names)
  assert.equal(
    [config.port, config.host, config.password, config.baseHome],
    [8787, '127.0.0.1', null, '/home/me/.agent'],
  )
})

test('the base home', () => {
  const cases: [string | undefined, string | undefined, string, string][] = [
    ['/base', '/base/profiles/p', '/base', '/base/profiles/p'],
    [undefined, '/x/profiles/p', '/x', '/x/profiles/p'],
    [undefined, '/x/profiles/p/', '/x', '/x/profiles/p/'.slice(0, -1)],
    [undefined, '/x/profiles', '/x/profiles', '/x/profiles'],
    [undefined, '/x/profiles/p/q', '/x/profiles/p/q', '/x/profiles/p/q'],
    [undefined, '/x/other', '/x/other', '/x/other'],
    [undefined, '~/agent', '/home/me/agent', '/home/me/agent'],
    ['~', undefined, '/home/me', '/home/me'],
  ]
  for (const [base, home, baseHome, agentHome] of cases) {
    const config = read({ AGENT_BASE_HOME: base, AGENT_HOME: home })
    assert.equal(
      [config.baseHome, config.agentHome, config.stateDir],
      [baseHome, agentHome, `${baseHome}/webui`],
    )
  }
  assert.is(read({ AGENT_WEBUI_STATE_DIR: '/s', AGENT_HOME: '/x' }).stateDir, '/s')
})

test('the command line overrides the environment', () => {
  const env = { AGENT_WEBUI_PORT: '1000', AGENT_WEBUI_HOST: '0.0.0.0' }
  const config = read(env, ['0', '--host', '::1', '--no-browser'])
  assert.equal([config.port, config.host, config.openBrowser], [0, '::1', false])
  assert.is(read(env, ['--host=10.0.0.1']).host, '10.0.0.1')
  assert.equal([read(env).port, read(env).host], [1000, '0.0.0.0'])
})

test('models, switches, lists', () => {
  assert.is(read({ LLM_MODEL: 'c', OPENAI_MODEL: 'b' }).modelOverride, 'b')
  assert.is(read({ LLM_MODEL: 'c', OPENAI_MODEL: 'b', AGENT_MODEL: 'a' }).modelOverride, 'a')
  for (const on of ['1', 'true', 'YES']) {
    assert.ok(read({ SKIP_ONBOARDING: on }).skipOnboarding)
    assert.ok(read({ AGENT_WEBUI_SKIP_ONBOARDING: on }).skipOnboarding)
    assert.ok(read({ AGENT_WEBUI_AUTO_INSTALL: on }).autoInstall)
  }
  assert.not.ok(read({ SKIP_ONBOARDING: '0', AGENT_WEBUI_AUTO_INSTALL: 'no' }).skipOnboarding)
  assert.ok(read({ AGENT_WEBUI_ONBOARDING_OPEN: '0' }).onboardingOpen)
  const origins = read({
    AGENT_WEBUI_ALLOWED_ORIGINS:
      'https://A.example/, http://b.example:80 ,c.example, ,https://d.example/path',
  })
  assert.equal(origins.allowedOrigins, ['https://a.example', 'http://b.example'])
  assert.is(origins.warnings.length, 2)
  // Of an earlier version: ignored, and does not stop the start.
  assert.is(read({ AGENT_WEBUI_RELEASES: 'https://a.example/releases.json' }).warnings.length, 1)
  assert.equal(
    read({ AGENT_WEBUI_TRUSTED_PROXIES: '10.0.0.0/8, fd00::/8,1.2.3.4' }).trustedProxies,
    ['10.0.0.0/8', 'fd00::/8', '1.2.3.4'],
  )
  assert.is(read({ AGENT_WEBUI_PASSWORD: ' s ' }).password, 's')
  assert.is(read({ ANTHROPIC_API_KEY: 'k', NONE: undefined }).env.ANTHROPIC_API_KEY, 'k')
})

test('rejects settings of a worker that cannot be meant', () => {
  const AGENT_WEBUI_CLUSTER_URL = 'postgres://test@127.0.0.1/test'
  const worker = (env: Record<string, string>) =>
    read({ AGENT_WEBUI_CLUSTER_URL, ...env }).cluster?.worker
  for (const capacity of ['0', '-1', '1.5', 'x', '1001'])
    assert.throws(() => worker({ AGENT_WEBUI_CLUSTER_CAPACITY: capacity }), `not "${capacity}"`)
  for (const idle of ['-1', 'x', '10001'])
    assert.throws(() => worker({ AGENT_WEBUI_CLUSTER_IDLE: idle }), `not "${idle}"`)
  assert.throws(() => worker({ AGENT_WEBUI_CLUSTER_WORKER: 'a b' }), 'not "a b"')
  assert.throws(() => worker({ AGENT_WEBUI_CLUSTER_LABELS: 'gpu, a/b' }), 'not "a/b"')
  assert.throws(
    () => read({ AGENT_WEBUI_CLUSTER_CAPACITY: '2' }),
    'AGENT_WEBUI_CLUSTER_CAPACITY needs AGENT_WEBUI_CLUSTER_URL',
  )
  assert.equal(worker({ AGENT_WEBUI_CLUSTER_LABELS: 'gpu, berlin' }), {
    name: null,
    users: null,
    capacity: 10,
    labels: ['gpu', 'berlin'],
    memoryBytes: null,
    processes: null,
  })
  for (const size of ['1', '511M', '-1G', '4 GB', 'x'])
    for (const name of ['MEMORY', 'DISK'])
      assert.throws(() => worker({ [`AGENT_WEBUI_CLUSTER_${name}`]: size }), `not "${size}"`)
  for (const count of ['-1', '63', '100.5', 'x'])
    assert.throws(() => worker({ AGENT_WEBUI_CLUSTER_PROCESSES: count }), `not "${count}"`)
  assert.is(worker({ AGENT_WEBUI_CLUSTER_MEMORY: '1.5G' })?.memoryBytes, 1.5 * 2 ** 30)
  assert.is(worker({ AGENT_WEBUI_CLUSTER_MEMORY: '0' })?.memoryBytes, 0)
  for (const users of ['1', '5-10', '2000-1000', '1000-', 'a-b', '1000-99999999999', 'Shared'])
    assert.throws(() => worker({ AGENT_WEBUI_CLUSTER_USERS: users }), `not "${users}"`)
  for (const [text, users] of [
    ['shared', 'shared'],
    ['200000-200999', { first: 200_000, last: 200_999 }],
  ] as const)
    assert.equal(worker({ AGENT_WEBUI_CLUSTER_USERS: text })?.users, users)
  assert.is(read({ AGENT_WEBUI_CLUSTER_URL }).cluster?.idleMs, 900_000)
})

test.run()
