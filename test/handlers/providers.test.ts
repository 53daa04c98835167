/** Keys of providers over HTTP: what is refused, what is on disk afterwards, and a real call with what is stored. */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'
import { createProvider, type Scripted } from '../_provider.ts'
import { idsOf, type ListServer, startLists } from '../lib/models/_lists.ts'

type Row = {
  id: string
  has_key: boolean
  configurable: boolean
  key_source: string
  key_name: string | null
  alias_of: string | null
  models: { id: string }[]
}

const test = suite<{ app: TestApp; scripted: Scripted; other: Scripted; lists: ListServer }>(
  'providers over HTTP',
)
test.before.each(async context => {
  context.scripted = await createProvider()
  context.other = await createProvider()
  context.lists = await startLists(idsOf('qwen3:4b'))
  context.app = await startApp({
    env: {
      GITHUB_TOKEN: 'ghp-ambient-token',
      OPENAI_BASE_URL: context.scripted.url,
      OLLAMA_BASE_URL: `${context.lists.url}/v1`,
    },
  })
})
test.after.each(async ({ app, scripted, other, lists }) => {
  await scripted.close()
  await other.close()
  await lists.close()
  await app.close()
})

const rowsOf = async (app: TestApp, cookie = ''): Promise<Map<string, Row>> => {
  const headers: Record<string, string> = cookie ? { Cookie: cookie } : {}
  const { body } = await app.get('/api/providers', { headers })
  return new Map(body.providers.map((row: Row) => [row.id, row]))
}
const envOf = (dir: string) => readFileSync(join(dir, '.env'), 'utf8')

test('rejects invalid keys and writes nothing', async ({ app }) => {
  const cases: [Record<string, unknown>, RegExp][] = [
    [{}, /provider/],
    [{ provider: ' ', api_key: 'sk-12345678' }, /provider is required/],
    [{ provider: 'copilot', api_key: 'sk-12345678' }, /OAuth/],
    [{ provider: 'nous', api_key: 'sk-12345678' }, /OAuth/],
    [{ provider: 'openai-codex', api_key: 'sk-12345678' }, /OAuth/],
    [{ provider: 'meta-llama', api_key: 'sk-12345678' }, /does not have a known env var mapping/],
    [{ provider: 'nobody', api_key: 'sk-12345678' }, /does not have a known env var mapping/],
    [{ provider: 'openai', api_key: 'short' }, /too short/],
    [{ provider: 'openai', api_key: 'sk-1234\n5678=x' }, /newline/],
    [{ provider: 'openai', api_key: 'sk-1234\r5678' }, /newline/],
    [{ provider: 'openai', api_key: 'sk-12 34 5678' }, /invalid characters/],
    [{ provider: 'openai', api_key: 'your_api_key' }, /placeholder/],
  ]
  for (const [body, says] of cases) {
    const answer = await app.post('/api/providers', body)
    assert.is(answer.status, 400, JSON.stringify(body))
    assert.match(answer.body.error, says)
    assert.not.match(answer.text, '12345678')
  }
  assert.not.ok(existsSync(join(app.home, '.env')))
})

test('writes a key to .env of the request’s profile, keeping comments and order, mode 0600', async ({
  app,
}) => {
  const work = join(app.home, 'profiles', 'work')
  mkdirSync(work, { recursive: true })
  writeFileSync(join(work, '.env'), '# mine\nA=1\nOPENAI_API_KEY=sk-old-key\nB=2\n', {
    mode: 0o644,
  })
  const cookie = { headers: { Cookie: 'agent_profile=work' } }
  const done = await app.post(
    '/api/providers',
    { provider: ' OpenAI ', api_key: ' sk-new-key ' },
    cookie,
  )
  assert.equal(done.body, {
    ok: true,
    provider: 'openai',
    display_name: 'OpenAI',
    action: 'updated',
  })
  assert.is(envOf(work), '# mine\nA=1\nOPENAI_API_KEY=sk-new-key\nB=2\n')
  assert.is(statSync(join(work, '.env')).mode & 0o777, 0o600)
  assert.not.ok(existsSync(join(app.home, '.env')))
  assert.is((await rowsOf(app, 'agent_profile=work')).get('openai')?.has_key, true)
  assert.is((await rowsOf(app)).get('openai')?.has_key, false)
  const gone = await app.post('/api/providers/delete', { provider: 'openai' }, cookie)
  assert.is(gone.body.action, 'removed')
  assert.is(envOf(work), '# mine\nA=1\nB=2\n')
})

test('each provider has its variable; a blank key removes it', async ({ app }) => {
  const variables: [string, string][] = [
    ['openrouter', 'OPENROUTER_API_KEY'],
    ['anthropic', 'ANTHROPIC_API_KEY'],
    ['google', 'GOOGLE_API_KEY'],
    ['gemini', 'GEMINI_API_KEY'],
    ['zai', 'GLM_API_KEY'],
    ['kimi-coding', 'KIMI_API_KEY'],
    ['deepseek', 'DEEPSEEK_API_KEY'],
    ['minimax', 'MINIMAX_API_KEY'],
    ['mistralai', 'MISTRAL_API_KEY'],
    ['x-ai', 'XAI_API_KEY'],
    ['opencode-zen', 'OPENCODE_ZEN_API_KEY'],
    ['opencode-go', 'OPENCODE_GO_API_KEY'],
    ['ollama', 'OLLAMA_API_KEY'],
  ]
  for (const [provider, variable] of variables) {
    await app.post('/api/providers', { provider, api_key: `key-of-${provider}` })
    assert.is(envOf(app.home), `${variable}=key-of-${provider}\n`)
    const { body } = await app.post('/api/providers', { provider, api_key: null })
    assert.is(body.action, 'removed')
    assert.is(envOf(app.home), '')
  }
})

test('the source of a key is returned, its value never', async ({ app }) => {
  writeFileSync(join(app.home, '.env'), 'GLM_API_KEY=secret-of-zai\n')
  writeFileSync(
    join(app.home, 'config.yaml'),
    'model: {provider: deepseek, api_key: secret-of-model}\nproviders: {xai: {api_key: secret-of-xai}}\n',
  )
  writeFileSync(
    join(app.home, 'auth.json'),
    JSON.stringify({ credential_pool: { anthropic: [{ access_token: 'secret-of-pool' }] } }),
  )
  const rows = await rowsOf(app)
  const source = (id: string) => [rows.get(id)?.key_source, rows.get(id)?.key_name]
  assert.equal(source('zai'), ['env_file', 'GLM_API_KEY'])
  assert.equal(source('deepseek'), ['config_yaml', 'model.api_key'])
  assert.equal(source('xai'), ['config_yaml', 'providers.xai.api_key'])
  assert.equal(source('anthropic'), ['pool', 'the credential pool'])
  // model.api_key is the configured provider's; an ambient token does not count.
  for (const id of ['openai', 'openrouter', 'gemini', 'copilot'])
    assert.equal(source(id), ['none', null])
  const answer = await app.get('/api/providers')
  assert.not.match(answer.text, 'secret-of')
  assert.is(answer.body.active_provider, 'deepseek')
  assert.is(answer.headers['cache-control'], 'no-store')
})

test('lists every known id, sorted; aliases name their provider', async ({ app }) => {
  const rows = await rowsOf(app)
  const ids = [...rows.keys()]
  assert.equal(ids, ids.toSorted())
  for (const id of ['google', 'gemini', 'x-ai', 'qwen', 'meta-llama', 'ollama-cloud', 'lmstudio'])
    assert.ok(rows.has(id), id)
  assert.is(rows.get('x-ai')?.alias_of, 'xai')
  assert.ok((rows.get('x-ai')?.models.length ?? 0) > 0)
  assert.is(rows.get('copilot')?.configurable, false)
  assert.is(rows.get('openai')?.configurable, true)
})

test('a new key lists its provider at once and replaces the existing key where it is stored', async ({
  app,
}) => {
  writeFileSync(join(app.home, '.env'), 'GOOGLE_API_KEY=the-first-one\n')
  await app.post('/api/providers', { provider: 'gemini', api_key: 'the-second-one' })
  assert.is(envOf(app.home), 'GOOGLE_API_KEY=the-second-one\n')
  const { body } = await app.get('/api/models')
  assert.equal(
    body.groups.map(({ provider_id }: { provider_id: string }) => provider_id),
    ['gemini'],
  )
})

test('a connection test makes a real call and reports the result', async ({ app, scripted }) => {
  const none = await app.post('/api/providers/test', { provider: 'deepseek' })
  assert.is(none.status, 200)
  assert.is(none.body.ok, false)
  assert.match(none.body.error, /DeepSeek has no API key/)
  assert.is(scripted.requests.length, 0)

  await app.post('/api/providers', { provider: 'openai', api_key: 'sk-stored-key' })
  scripted.push({ status: 401, body: { error: { message: 'Incorrect API key sk-stored-key' } } })
  const wrong = await app.post('/api/providers/test', { provider: 'openai' })
  assert.equal([wrong.body.ok, wrong.body.type], [false, 'auth_mismatch'])
  assert.not.match(wrong.text, 'sk-stored-key')
  assert.ok(wrong.body.hint)

  scripted.push({ text: ['O', 'K'] })
  const right = await app.post('/api/providers/test', { provider: 'openai', model: 'gpt-5.4' })
  assert.equal([right.body.ok, right.body.model], [true, 'gpt-5.4'])
  assert.match(right.body.message, /^gpt-5\.4 responded in/)
  const request = scripted.requests.at(-1)
  assert.is(request?.headers.authorization, 'Bearer sk-stored-key')
  assert.is(request?.body.model, 'gpt-5.4')
  assert.ok((request?.body.max_tokens ?? request?.body.max_completion_tokens) <= 64)
})

test('a connection test is aborted when the client disconnects', async ({ app, scripted }) => {
  await app.post('/api/providers', { provider: 'openai', api_key: 'sk-stored-key' })
  scripted.push({ end: 'cut', raw: '' })
  const cut = await app.post('/api/providers/test', { provider: 'openai' })
  assert.equal([cut.body.ok, cut.body.type], [false, 'network'])
  scripted.push({ end: 'headers' })
  const body = '{"provider":"openai"}'
  const head = `POST /api/providers/test HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}`
  const caller = connect(Number(new URL(app.url).port), '127.0.0.1')
  caller.write(`${head}\r\n\r\n${body}`)
  const asked = await scripted.arrived(2)
  caller.resetAndDestroy()
  await asked.closed
})

test('tests a key before storing it; stored keys are never sent to an address from the request', async ({
  app,
  other: scripted,
}) => {
  writeFileSync(join(app.home, '.env'), 'OPENAI_API_KEY=sk-stored-key\n')
  scripted.push({ text: 'OK' }, { text: 'OK' })
  const keyless = await app.post('/api/providers/test', {
    provider: 'custom',
    base_url: scripted.url,
    model: 'm',
  })
  assert.is(keyless.body.ok, true)
  assert.is(scripted.requests[0]?.headers.authorization, undefined)
  const tried = { provider: 'custom', base_url: scripted.url, model: 'm', api_key: 'sk-tried-key' }
  assert.is((await app.post('/api/providers/test', tried)).body.ok, true)
  assert.is(scripted.requests[1]?.headers.authorization, 'Bearer sk-tried-key')
  assert.is(envOf(app.home), 'OPENAI_API_KEY=sk-stored-key\n')
  assert.not.ok(existsSync(join(app.home, 'config.yaml')))
})

test('local servers are probed on request only, and added with one call', async ({
  app,
  lists,
}) => {
  await app.get('/api/models')
  assert.is(lists.asked.length, 0)
  const { body } = await app.get('/api/models/local')
  const found = body.servers.find(({ id }: { id: string }) => id === 'ollama')
  assert.equal(found, {
    id: 'ollama',
    name: 'Ollama',
    base_url: `${lists.url}/v1`,
    models: [{ id: 'qwen3:4b', label: 'Qwen3 (4B)' }],
    configured: false,
  })
  assert.is(lists.asked[0]?.headers.authorization, undefined)

  const used = await app.post('/api/providers/self-hosted', {
    name: 'Ollama',
    base_url: found.base_url,
    model: 'qwen3:4b',
    use: true,
  })
  assert.equal(used.body, { ok: true, provider: 'custom:ollama', default_model: 'qwen3:4b' })
  const list = await app.get('/api/models')
  assert.is(list.body.active_provider, 'custom:ollama')
  assert.equal(
    list.body.groups.map(({ provider }: { provider: string }) => provider),
    ['Ollama'],
  )
  const again = await app.get('/api/models/local')
  assert.is(again.body.servers[0].configured, true)
  await app.restart()
  assert.is((await app.get('/api/settings')).body.default_model, 'qwen3:4b')
})

test('a custom endpoint is added to existing providers; bad names and addresses are rejected', async ({
  app,
}) => {
  const before = '# mine\nmodel: {provider: openai, default: gpt-5.4}\n'
  writeFileSync(join(app.home, 'config.yaml'), before)
  const server = { name: 'Box', base_url: 'http://127.0.0.1:9/v1', model: 'm' }
  const bad = [
    { ...server, name: '' },
    { ...server, name: 'a:b' },
    { ...server, name: 'openai' },
    { ...server, base_url: 'ftp://host' },
    { ...server, base_url: 'http://user:secret@host/v1' },
    { ...server, model: ' ' },
  ]
  for (const body of bad) {
    assert.is(
      (await app.post('/api/providers/self-hosted', body)).status,
      400,
      JSON.stringify(body),
    )
  }
  assert.is(readFileSync(join(app.home, 'config.yaml'), 'utf8'), before)
  await app.post('/api/providers/self-hosted', server)
  await app.post('/api/providers/self-hosted', { ...server, model: 'other' })
  const after = readFileSync(join(app.home, 'config.yaml'), 'utf8')
  assert.ok(after.startsWith(before))
  assert.is(after.match(/name: Box/g)?.length, 1)
  assert.match(after, /model: other/)
  assert.is((await app.get('/api/models')).body.active_provider, 'openai')
})

test.run()
