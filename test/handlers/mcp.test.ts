/** MCP servers over HTTP: kept in config.yaml with its comments, shown without secrets, tried for real, used by a turn. */
import { asObject } from '../../lib/base/json.ts'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { bundleProgram } from '../_program.ts'
import type { McpServerRow } from '../../lib/schema/mcp.ts'
import { startApp, type TestApp } from '../_app.ts'
import { startChat } from './_chat.ts'

const odd = bundleProgram(join(import.meta.dirname, '../lib/mcp/_server.ts'))

const test = suite<{ app: TestApp; config: string }>('mcp over HTTP')
test.before.each(async state => {
  state.app = await startApp()
  state.config = join(state.app.home, 'config.yaml')
})
test.after.each(({ app }) => app.close())

/** As the configuration refers to a variable. */
const REF = `\${REF}`

const path = (name: string) => `/api/mcp/servers/${encodeURIComponent(name)}`
const put = (app: TestApp, name: string, body: unknown) =>
  app.request('PUT', path(name), { body: body as object })
const patch = (app: TestApp, name: string, body: unknown) =>
  app.request('PATCH', path(name), { body: body as object })
const servers = async (app: TestApp): Promise<McpServerRow[]> =>
  (await app.get('/api/mcp/servers')).body.servers

test('rejects invalid servers and writes nothing', async ({ app, config }) => {
  const cases: [string, unknown, string][] = [
    ['a', {}, 'needs a command or an address'],
    ['a', { command: 'x', url: 'http://y' }, 'not both'],
    ['a b', { command: 'x' }, 'A name can have'],
    ['../a', { command: 'x' }, 'A name can have'],
    ['a', { command: 7 }, 'command must be text'],
    ['a', { command: 'x', timeout: -1 }, 'timeout'],
    ['a', { command: 'x', env: { KEY: '••••••' } }, 'hidden'],
  ]
  for (const [name, body, said] of cases) {
    const answer = await put(app, name, body)
    assert.is(answer.status, 400, answer.text)
    assert.match(answer.body.error, said)
  }
  assert.is((await app.request('PUT', '/api/mcp/servers/%ff', { body: {} })).status, 400)
  assert.is((await app.request('DELETE', path('none'), {})).status, 404)
  assert.is((await patch(app, 'none', { enabled: true })).status, 404)
  assert.is((await app.post('/api/mcp/test', { name: 'none' })).status, 404)
  const wrong = await app.post(path('a'), { command: 'x' })
  assert.equal([wrong.status, wrong.headers.allow], [405, 'PUT, PATCH, DELETE'])
  assert.equal(await servers(app), [])
  assert.throws(() => readFileSync(config))
})

test('rejects cross-site changes', async ({ app }) => {
  const headers = { Origin: 'https://evil.example' }
  for (const method of ['PUT', 'PATCH', 'DELETE']) {
    const answer = await app.request(method, path('a'), { headers, body: { command: 'x' } })
    assert.is(answer.status, 403, method)
  }
})

test('does not change a broken config.yaml and reports it', async ({ app, config }) => {
  const broken = 'mcp_servers: [\n'
  writeFileSync(config, broken)
  const answer = await put(app, 'a', { command: 'x' })
  assert.is(answer.status, 409)
  assert.is(readFileSync(config, 'utf8'), broken)
  assert.type((await app.get('/api/mcp/servers')).body.problem, 'string')
})

test('adds, changes and removes servers; keeps comments; keeps and masks secrets', async ({
  app,
  config,
}) => {
  writeFileSync(
    config,
    `# mine
mcp_servers:
  # the old one
  web:
    url: https://example.org/mcp?api_key=abcdef123456 # keep
    headers:
      Authorization: Bearer sk-secret-1234567890 # a token
      X-Ref: ${REF}
    enabled: false
`,
  )
  const [web] = await servers(app)
  assert.is(web?.state, 'disabled')
  assert.equal(web?.headers, { Authorization: '••••••', 'X-Ref': REF })
  assert.is(web?.url, 'https://example.org/mcp?api_key=••••••')
  assert.not.match((await app.get('/api/mcp/servers')).text, /abcdef123456|sk-secret/)

  // Sent back as shown, with one thing changed.
  const { url, headers } = web as McpServerRow
  const saved = await put(app, 'web', { url, headers: { ...headers, 'X-New': 'new' }, timeout: 30 })
  assert.is(saved.status, 200, saved.text)
  const text = readFileSync(config, 'utf8')
  for (const part of [
    '# mine',
    '# the old one',
    'api_key=abcdef123456 # keep',
    'Bearer sk-secret-1234567890 # a token',
    `X-Ref: ${REF}`,
    'X-New: new',
    'timeout: 30',
  ])
    assert.match(text, part)

  // A masked key is not sent to another address either.
  const elsewhere = 'https://evil.example/mcp'
  for (const change of [{ url: elsewhere }, { url: elsewhere, headers }]) {
    const answer = await put(app, 'web', change)
    assert.equal([answer.status, /hidden/.test(answer.body.error)], [400, true])
  }
  assert.is((await put(app, 'web', { url: elsewhere, headers: { 'X-Ref': REF } })).status, 200)

  const args = ['-y', 'pkg', '--api-key', 'hush-hush']
  const added = await put(app, 'local', { command: 'npx', args, enabled: false, create: true })
  assert.is(added.status, 200)
  assert.equal(added.body.server.args, ['-y', 'pkg', '--api-key', '••••••'])
  assert.is((await put(app, 'local', { command: 'x', create: true })).status, 409)
  const kept = await put(app, 'local', { args: [...added.body.server.args, '--more'] })
  assert.is(kept.status, 200, kept.text)
  assert.match(readFileSync(config, 'utf8'), 'hush-hush')

  assert.is((await app.request('DELETE', path('web'), {})).status, 200)
  assert.equal(
    (await servers(app)).map(({ name }) => name),
    ['local'],
  )
  assert.match(readFileSync(config, 'utf8'), '# mine')
})

test('tests a server with a real connection; disables tools one by one', async ({
  app,
  config,
}) => {
  const server = { command: process.execPath, args: [odd, 'garbage'] }
  await put(app, 'odd', { ...server, env: { WORD: 'sesame-open-please' } })
  const tried = await app.post('/api/mcp/test', { name: 'odd' })
  assert.is(tried.status, 200)
  assert.ok(tried.body.ok, tried.text)
  assert.ok(tried.body.tools.includes('echo'))
  assert.not.match(tried.text, 'sesame')
  const [row] = await servers(app)
  assert.equal([row?.state, row?.version], ['ready', 'odd one 0.1'])
  assert.ok(row?.tools.every(({ enabled }) => enabled))

  await patch(app, 'odd', { enabled: false, tool: 'echo' })
  assert.match(readFileSync(config, 'utf8'), /exclude:\s+- echo/)
  const { tools } = (await app.get('/api/mcp/tools')).body
  const names = tools
    .filter((tool: { enabled: boolean }) => !tool.enabled)
    .map(({ name }: { name: string }) => name)
  assert.equal(names, ['mcp_odd_echo'])
  await patch(app, 'odd', { enabled: true, tool: 'echo' })
  assert.not.match(readFileSync(config, 'utf8'), 'tools:')

  await patch(app, 'odd', { enabled: false })
  assert.is((await servers(app))[0]?.state, 'disabled')
  await put(app, 'bad', { command: process.execPath, args: [odd, 'exit'] })
  const failed = await app.post('/api/mcp/test', { name: 'bad' })
  assert.equal([failed.body.ok, failed.body.tools], [false, []])
  assert.match(failed.body.stderr, 'no license')
  assert.is(failed.body.sentences.message.code, 'mcp.ended_early')
  const bad = (await servers(app)).find(({ name }) => name === 'bad')
  assert.equal(bad?.sentences?.error?.values, {
    reason: { code: 'mcp.exited', values: { code: 2 } },
  })
})

test('each profile has its own servers', async ({ app }) => {
  mkdirSync(join(app.home, 'profiles', 'work'), { recursive: true })
  const headers = { Cookie: 'agent_profile=work' }
  await app.request('PUT', path('mine'), { headers, body: { command: 'x', enabled: false } })
  assert.equal(await servers(app), [])
  assert.is((await app.get('/api/mcp/servers', { headers })).body.servers.length, 1)
})

test.run()

const turns = suite('mcp in a turn')

turns('a turn uses an MCP tool, and continues without a server that does not work', async () => {
  const chat = await startChat(
    { toolCalls: [{ name: 'mcp_odd_echo', arguments: { word: 'hello' } }] },
    { text: 'done' },
    { text: 'again' },
  )
  await put(chat.app, 'odd', { command: process.execPath, args: [odd] })
  await put(chat.app, 'bad', { command: 'nonesuch-program' })
  const session = await chat.newSession()
  const seen = await chat.turn(session, 'go')
  const warnings = seen.filter(({ event }) => event === 'warning').map(({ data }) => data)
  assert.equal(
    warnings.map(({ message }) => message),
    ['The MCP server “bad” cannot be used: The program “nonesuch-program” was not found.'],
  )
  // So that a page shows it in its language.
  const [{ sentences = {} } = {}] = warnings
  assert.equal(asObject(sentences).message, {
    code: 'mcp.unusable',
    values: {
      name: 'bad',
      reason: { code: 'mcp.no_program', values: { command: 'nonesuch-program' } },
    },
  })
  const messages = await chat.messages(session)
  assert.equal(
    messages.map(({ role, content }) => [role, content]),
    [
      ['user', 'go'],
      ['assistant', ''],
      ['tool', '{"word":"hello"}'],
      ['assistant', 'done'],
    ],
  )
  const offered = chat.provider.requests[0]?.body.tools.map(
    (tool: { function: { name: string } }) => tool.function.name,
  )
  assert.ok(offered.includes('mcp_odd_echo'), String(offered))
  // Said once in a conversation.
  const next = await chat.turn(session, 'more')
  assert.not.ok(next.some(({ event }) => event === 'warning'))
  await chat.close()
})

turns(
  'what is allowed for longer is the call with its arguments, or, if chosen, any call of the tool',
  async () => {
    const erase = (path: string) => ({
      toolCalls: [{ name: 'mcp_odd_erase', arguments: { path } }],
    })
    const script = ['/x', '/x', '/y', '/z', '/z', '/x'].flatMap(path => [
      erase(path),
      { text: path },
    ])
    const chat = await startChat(...script)
    await put(chat.app, 'odd', { command: process.execPath, args: [odd] })
    // A title costs a call of its own.
    const sessionOf = async () => {
      const id = await chat.newSession()
      await chat.app.post('/api/session/rename', { session_id: id, title: 'Named' })
      return id
    }
    const asked = async (session: string, answer: object | null) => {
      const stream = await chat.send(session, 'erase it')
      if (answer === null) {
        const seen = await chat.follow(stream)
        assert.not.ok(seen.some(({ event }) => event === 'approval'))
        return null
      }
      await chat.follow(stream, 'approval')
      const { pending } = (await chat.app.get(`/api/approval/pending?session_id=${session}`)).body
      await chat.app.post('/api/approval/respond', { session_id: session, ...answer })
      await chat.follow(stream)
      return pending
    }
    const session = await sessionOf()
    const first = await asked(session, { choice: 'session' })
    assert.equal(
      [first.pattern_keys, first.command, first.any],
      [['mcp: odd/erase'], 'odd/erase {"path":"/x"}', { of: 'arguments', name: 'odd/erase' }],
    )
    await asked(session, null)
    assert.is((await asked(session, { choice: 'always' })).command, 'odd/erase {"path":"/y"}')
    await asked(session, { choice: 'always', any: true })
    // In every chat of the profile, until it is revoked.
    const other = await sessionOf()
    await asked(other, null)
    const { grants } = (await chat.app.get('/api/approval/grants')).body
    assert.equal(
      grants.map((each: { command: string; any?: string }) => [each.command, each.any]),
      [
        ['odd/erase {"path":"/y"}', undefined],
        ['odd/erase', 'arguments'],
      ],
    )
    for (const { id } of grants) await chat.app.post('/api/approval/grants/revoke', { id })
    await asked(other, { choice: 'deny' })
    await chat.close()
  },
)

turns(
  'an answer for a server is approved, counted, and shown; a budget that is used up refuses it',
  async () => {
    const ask = {
      toolCalls: [{ name: 'mcp_all_trigger-sampling-request', arguments: { prompt: 'Height?' } }],
    }
    const usage = { prompt_tokens: 10, completion_tokens: 5 }
    const chat = await startChat(
      { ...ask, usage },
      { text: 'Very tall.', usage: { prompt_tokens: 1_000, completion_tokens: 500 } },
      { text: 'done', usage },
      { ...ask, usage },
      { text: 'no answer', usage },
    )
    const everything = '../../node_modules/@modelcontextprotocol/server-everything/dist/index.js'
    await put(chat.app, 'all', {
      command: process.execPath,
      args: [join(import.meta.dirname, everything)],
    })
    // What allows the call does not allow the server to ask a model.
    const config = join(chat.app.home, 'config.yaml')
    const allowing = `echo '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}'`
    writeFileSync(
      config,
      `${readFileSync(config, 'utf8')}
permissions: { allow: ["mcp__all__*"] }
hooks: { PreToolUse: [{ matcher: ".*", command: ${JSON.stringify(allowing)} }] }
`,
    )
    const session = await chat.newSession()
    // A title costs a call of its own.
    await chat.app.post('/api/session/rename', { session_id: session, title: 'Named' })
    const stream = await chat.send(session, 'measure it')
    // One reader from the start: what a tool prints is shown while it runs, and not again.
    const seen = await chat.follow(stream, 'stream_end', 0, async () => {
      const { pending } = (await chat.app.get(`/api/approval/pending?session_id=${session}`)).body
      assert.equal(pending.pattern_keys, ['sampling: all'])
      assert.match(pending.command, 'Height?')
      await chat.app.post('/api/approval/respond', { session_id: session, choice: 'session' })
    })
    const shown = seen.filter(({ event }) => event === 'tool_output').map(({ data }) => data.text)
    assert.match(shown.join(''), 'Answer of test-model to all:\nVery tall.')
    // The request of the server reaches the model without the conversation and without tools.
    const { body } = chat.provider.requests[1] as { body: { messages: unknown[]; tools?: unknown } }
    assert.not.match(JSON.stringify(body.messages), 'measure it')
    assert.is(body.tools, undefined)
    const result = (await chat.messages(session)).find(({ role }) => role === 'tool')
    assert.match(String(result?.content), 'Very tall.')
    const row = (await chat.app.get(`/api/session?session_id=${session}`)).body.session
    assert.is(row.input_tokens, 1_020)
    assert.is(row.output_tokens, 510)

    await chat.app.post('/api/budgets', { turn: { tokens: 12 } })
    const next = await chat.send(session, 'again')
    await chat.follow(next, 'approval')
    const budget = (await chat.app.get(`/api/approval/pending?session_id=${session}`)).body.pending
    assert.match(budget.pattern_keys[0], /^budget: /)
    await chat.app.post('/api/approval/respond', { session_id: session, choice: 'deny' })
    await chat.follow(next)
    // The turn's own call was the last one: none for the server.
    assert.is(chat.provider.requests.length, 4)
    await chat.close()
  },
)

turns.run()
