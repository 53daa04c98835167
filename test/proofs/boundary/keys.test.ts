/**
 * The proof that keys stay where they are: a home with a secret in every place that holds one, a model that tries to read
 * them with every tool, and no answer, event, log line, file of ours or request to the model that holds one of them.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { spellingsOf } from '../../../lib/base/redact/spellings.ts'
import { routes, patternRoutes } from '../../../router.ts'
import { startApp, type TestApp } from '../../_app.ts'
import { createProvider, type Scripted, type ScriptedCall } from '../../_provider.ts'
import { create, runNow } from '../../handlers/_crons.ts'

const test = suite('keys reach no page and no model')

const SECRETS = {
  environment: 'env-Kq83hfLmz0PwXs71',
  dotenv: 'base+Dot/Env=9f8e7d6c5b4a',
  other: 'OtherProfile0Zz19yX28',
  config: 'cfgKEY-1a2b3c4d5e6f7g8h',
  custom: 'custom"prov\\42-QwErTy',
  auxiliary: 'AuxVision7654321kLmN',
  pool: 'pool_Refresh_ZyXwVu987654',
  agent: 'agentkey.55.aAbBcCdDeE',
  oauth: 'oauthAccess01234567890abcdefXYZ',
  google: 'goog-Refresh//0dQw4w9WgXcQ',
  mcpVariable: 'mcpEnvironment42AbCdEf',
  mcpHeader: 'mcpHeaderZ9y8X7w6V5u4',
  mcpArgument: 'mcpArg-00aa11BB22cc33',
  password: 'Tr0ub4dor&3-the-door',
} as const

const writeHome = (app: TestApp, url: string): void => {
  const put = (path: string, text: string) => {
    mkdirSync(join(app.home, path, '..'), { recursive: true })
    writeFileSync(join(app.home, path), text, { mode: 0o600 })
  }
  put(
    'config.yaml',
    `model:
  provider: custom
  base_url: ${url}
  api_key: ${SECRETS.config}
  default: test-model
custom_providers:
  - name: second
    base_url: https://api.example.org/v1
    api_key: ${JSON.stringify(SECRETS.custom)}
auxiliary:
  vision:
    api_key: ${SECRETS.auxiliary}
mcp_servers:
  shop:
    enabled: false
    command: shop-server
    args: [--api-key, ${SECRETS.mcpArgument}]
    env:
      SHOP_SETTING: ${SECRETS.mcpVariable}
  far:
    enabled: false
    url: https://mcp.example.org/
    headers:
      Authorization: Bearer ${SECRETS.mcpHeader}
`,
  )
  put('.env', `GLM_API_KEY="${SECRETS.dotenv}"\nLEVEL=debug\n`)
  put('profiles/other/.env', `DEEPSEEK_API_KEY=${SECRETS.other}\n`)
  put('profiles/other/config.yaml', 'model:\n  provider: deepseek\n')
  put(
    'auth.json',
    JSON.stringify({
      credential_pool: { mistral: [{ id: 'a', refresh_token: SECRETS.pool }] },
      providers: { nous: { agent_key: SECRETS.agent } },
    }),
  )
  put('.anthropic_oauth.json', JSON.stringify({ accessToken: SECRETS.oauth }))
  put('google_token.json', JSON.stringify({ token: 'x', refresh_token: SECRETS.google }))
}

const writeWorkspace = (workspace: string): void => {
  const all = Object.values(SECRETS)
  mkdirSync(workspace, { recursive: true })
  const put = (name: string, text: string) => writeFileSync(join(workspace, name), text)
  put('notes.txt', `${all.map((value, at) => `line ${at} has ${value} in it`).join('\n')}\n`)
  put('data.json', JSON.stringify(Object.fromEntries(all.map((value, at) => [`name${at}`, value]))))
  put('page.html', all.map(value => `<p>${value}</p>`).join(''))
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: workspace })
  git('init', '-q')
  git('add', '.')
  git('commit', '-qm', `first ${all[0]}`)
  put('notes.txt', `${all.toReversed().join(' / ')}\n`)
}

const runs = (command: string): ScriptedCall => ({ name: 'terminal', arguments: { command } })
const reads = (path: string): ScriptedCall => ({ name: 'read_file', arguments: { path } })
const script = (code: string): ScriptedCall => ({
  name: 'execute_code',
  arguments: { code, language: 'python' },
})

/** Everything a model may try without an encoding of its own. */
const tricks = (home: string): ScriptedCall[] => [
  ...['notes.txt', 'data.json', 'page.html', `${home}/config.yaml`, `${home}/.env`].map(reads),
  ...[`${home}/auth.json`, `${home}/profiles/other/.env`, '/proc/self/environ'].map(reads),
  { name: 'search_files', arguments: { pattern: 'line \\d+', target: 'content' } },
  { name: 'search_files', arguments: { pattern: 'api_key', target: 'content', path: home } },
  { name: 'search_files', arguments: { pattern: 'KEY', target: 'content', path: `${home}/.env` } },
  ...['cat notes.txt', 'cat data.json', `cat ${home}/config.yaml`, `cat ${home}/.env`].map(runs),
  ...[`cat ${home}/auth.json ${home}/.anthropic_oauth.json ${home}/google_token.json`].map(runs),
  ...[
    `grep -rn . ${home}/config.yaml ${home}/profiles/other`,
    'grep --color=always a notes.txt',
  ].map(runs),
  ...['base64 notes.txt', 'base64 -w0 notes.txt', 'base64 -w 20 data.json'].map(runs),
  ...['tail -c +2 notes.txt | base64', 'tail -c +3 notes.txt | base64 | tr +/ -_'].map(runs),
  ...['xxd -p notes.txt', 'xxd -p -u notes.txt', 'xxd notes.txt', 'hexdump -C notes.txt'].map(runs),
  ...['od -An -tx1 notes.txt', 'od -c notes.txt', 'xxd -c 8 notes.txt'].map(runs),
  ...[
    'printenv',
    'env',
    'set',
    'export -p',
    'cat /proc/self/environ',
    'cat /proc/$PPID/environ',
  ].map(runs),
  ...[
    'fold -w 10 notes.txt',
    'sed "s/./& /g" notes.txt',
    'cat -A notes.txt',
    'cat -n notes.txt',
  ].map(runs),
  ...[
    'jq . data.json',
    'python3 -m json.tool data.json',
    'strings notes.txt',
    'sort notes.txt',
  ].map(runs),
  runs(`python3 -c "import json;print(json.dumps(open('notes.txt').read()))"`),
  runs(`python3 -c "import urllib.parse as u;print(u.quote(open('notes.txt').read(), safe=''))"`),
  runs(`python3 -c "import urllib.parse as u;print(u.quote_plus(open('notes.txt').read()))"`),
  runs(`python3 -c "print(ascii(open('notes.txt').read()))"`),
  runs(`while IFS= read -rn1 c; do printf %s "$c"; done < notes.txt`),
  runs('cat notes.txt >&2; exit 3'),
  runs(`ls $(head -1 notes.txt | tr ' ' '_')`),
  runs('git diff'),
  runs('git log -p'),
  runs('git show HEAD:notes.txt'),
  runs('cp notes.txt copy.txt && diff data.json copy.txt'),
  runs('seq 1 30000; cat notes.txt; seq 1 30000'),
  { name: 'terminal', arguments: { command: 'cat notes.txt; sleep 30', background: true } },
  { name: 'process', arguments: { action: 'list' } },
  script(`print(open('notes.txt').read())`),
  script(`import os; print(os.environ)`),
  script(`raise Exception(open('notes.txt').read())`),
  script(`from agent_tools import read_file\nprint(read_file('notes.txt'))`),
  { name: 'patch', arguments: { path: 'notes.txt', old_string: 'no such', new_string: 'x' } },
  {
    name: 'patch',
    arguments: { path: 'data.json', old_string: '"name0"', new_string: '"name-0"' },
  },
  { name: 'session_search', arguments: { query: 'line' } },
  { name: 'no_such_tool', arguments: {} },
]

type Cookie = { headers: Record<string, string> }

const signIn = async (app: TestApp): Promise<Cookie> => {
  const answer = await app.post('/api/auth/login', { password: SECRETS.password })
  assert.is(answer.status, 200, answer.text)
  return { headers: { Cookie: String(answer.headers['set-cookie']).split(';')[0] ?? '' } }
}

/** Every file of ours, but for what the service keeps its own secrets in. */
const filesBelow = (dir: string): string[] =>
  readdirSync(dir).flatMap(name => {
    const path = join(dir, name)
    if (name === '.signing_key') return []
    return statSync(path).isDirectory() ? filesBelow(path) : [path]
  })

/** Encodings, named in failure reports. */
const leaksIn = (text: string): string[] =>
  Object.entries(SECRETS).flatMap(([name, secret]) =>
    spellingsOf(secret)
      .filter(spelling => text.includes(spelling))
      .map(spelling => `${name} as ${spelling}`),
  )

/** Also where a program has put white space between the characters. */
const unbroken = (text: string): string => text.replace(/\\+[nrt]|\s/g, '')

const attack = async (allowed: boolean): Promise<string[]> => {
  const provider: Scripted = await createProvider()
  const app = await startApp({
    env: { SHOP_API_KEY: SECRETS.environment, AGENT_WEBUI_PASSWORD: SECRETS.password },
  })
  const found: string[] = []
  const look = (where: string, text: string): void =>
    void found.push(...leaksIn(text).map(leak => `${where}: ${leak}`))
  try {
    writeHome(app, provider.url)
    const workspace = join(app.userHome, 'work')
    writeWorkspace(workspace)
    const cookie = await signIn(app)
    const get = (path: string) => app.request('GET', path, cookie)
    const post = (path: string, body: unknown) => app.request('POST', path, { ...cookie, body })
    await post('/api/workspaces/add', { path: workspace })
    const made = await post('/api/session/new', { workspace })
    const id: string = made.body.session?.session_id
    assert.ok(id, made.text)
    if (allowed) await post('/api/session/yolo', { session_id: id, enabled: true })

    const live: string[] = []
    const events = app.events(`/api/events?sources=session:${id},list,inbox,notices`, cookie)
    const listening = (async () => {
      for await (const event of events) {
        live.push(JSON.stringify(event))
        const { kind, approval_id } = event.data.data ?? {}
        if (event.event === 'asked' && kind === 'approval')
          await post('/api/approval/respond', { session_id: id, approval_id, choice: 'deny' })
      }
    })()

    const calls = tricks(app.home)
    const middle = Object.values(SECRETS).map(secret => secret.slice(0, 9))
    for (const [at, call] of calls.entries())
      provider.push({ text: `Try ${at}`, toolCalls: [{ id: `c${at}`, ...call }] })
    // What the model itself says, in pieces that cut each secret.
    const spoken = Object.values(SECRETS).flatMap(secret => [
      secret.slice(0, 9),
      secret.slice(9),
      ' ',
    ])
    provider.push({ text: ['The end. ', ...middle.map(() => '.')], reasoning: spoken })
    const started = await post('/api/chat/start', { session_id: id, message: 'Look around.' })
    const stream: string = started.body.stream_id
    for await (const event of app.events(`/api/chat/stream?stream_id=${stream}`, cookie)) {
      live.push(JSON.stringify(event))
      if (event.event === 'stream_end') break
    }
    assert.ok(provider.requests.length > calls.length, `${provider.requests.length} requests`)
    assert.is(provider.requests[0]?.headers.authorization, `Bearer ${SECRETS.config}`)

    for (const [at, text] of live.entries()) look(`event ${at} ${text.slice(0, 90)}`, text)
    let masked = 0
    for (const [at, { body }] of provider.requests.entries()) {
      const answer = JSON.stringify(body.messages.slice(-1))
      if (/\w{6}\.\.\.\S{4}/.test(answer)) masked++
      look(`request ${at}, after ${JSON.stringify(calls[at - 1])}`, answer)
      look(`request ${at}, broken, after ${JSON.stringify(calls[at - 1])}`, unbroken(answer))
    }
    // Most of the tricks have read something.
    assert.ok(masked > 30, `only ${masked} answers had anything to mask`)
    const q = `session_id=${id}`
    const running = (await get(`/api/processes?${q}`)).body.processes ?? []
    const records = (await get(`/api/rollback/list?${q}`)).body.checkpoints ?? []
    const paths = [
      ...[`/api/session?${q}`, `/api/session?${q}&messages=0`, `/api/session/export?${q}`],
      ...[
        `/api/session/export?${q}&format=md`,
        `/api/session/export?${q}&format=html`,
        `/api/session/status?${q}`,
        '/api/sessions',
      ],
      ...[
        '/api/sessions/search?q=line',
        '/api/sessions/search?q=api_key',
        '/api/inbox',
        '/api/memory',
      ],
      ...[`/api/processes?${q}`, `/api/git/status?${q}`, `/api/git/diff?${q}&path=notes.txt`],
      ...[`/api/git/diff?${q}&path=copy.txt&kind=untracked`, '/api/mcp/servers', '/api/providers'],
      ...[
        '/api/models',
        '/api/settings',
        '/api/profiles',
        '/api/tools',
        '/api/insights',
        '/api/crons',
      ],
      ...running.map(
        (each: { process_id: string }) => `/api/process/log?${q}&process_id=${each.process_id}`,
      ),
      ...records.flatMap((each: { checkpoint: string; files: { path: string }[] }) =>
        each.files.map(
          file => `/api/rollback/diff?${q}&checkpoint=${each.checkpoint}&path=${file.path}`,
        ),
      ),
    ]
    for (const path of paths) {
      const answer = await get(path)
      assert.is(answer.status, 200, `${path}: ${answer.text.slice(0, 300)}`)
      look(path, answer.text)
    }
    for await (const event of app.events(`/api/chat/stream?stream_id=${stream}`, cookie)) {
      look(`replayed ${event.event}`, JSON.stringify(event))
      if (event.event === 'stream_end') break
    }
    events.close()
    await listening
    await post('/api/session/delete', { session_id: id })
    look('log', app.lines.join('\n'))
    for (const path of filesBelow(app.state))
      look(path.slice(app.state.length), readFileSync(path, 'latin1'))
    return [...new Set(found)]
  } finally {
    await app.close()
    await provider.close()
  }
}

/** Any ten characters of one that are no word: a text that was cut before it was masked ends in the middle of a secret. */
const piecesIn = (text: string): string[] =>
  Object.entries(FAILING).flatMap(([name, secret]) => {
    const pieces = Array.from({ length: secret.length - 9 }, (_, at) => secret.slice(at, at + 10))
    const found = pieces.find(piece => /\d/.test(piece) && text.includes(piece))
    return found === undefined ? [] : [`${name}: …${found}… in ${around(text, found)}`]
  })

const around = (text: string, found: string): string => {
  const at = text.indexOf(found)
  return JSON.stringify(text.slice(Math.max(0, at - 60), at + 40))
}

/** Secrets of what fails. One is given only to the program that shows it. */
const FAILING = {
  provider: 'cfgKEY-9z8y7x6w5v4u3t2s',
  agentNamed: 'agentTokenNamed0192837465',
  agentRandom: 'agentSettingQwErTy123456',
  agentArgument: 'agentArgument-aa11-bb22-cc33',
  serverNamed: 'serverTokenNamed5647382910',
  serverRandom: 'serverSettingAsDfGh654321',
  serverArgument: 'serverArgument-dd44-ee55-ff66',
  script: 'scriptVariable9h8g7f6e5d4c',
  addressPassword: 'addressPass-1q2w3e4r5t',
  addressKey: 'addressKey-6y7u8i9o0p',
} as const

/** Says its secrets so often that whatever cuts the text cuts one of them. */
const OFTEN = `const often = texts => Array(700).fill(texts.join(' ')).join(' ')`

const serverProgram = `${OFTEN}
const manner = process.argv[2]
const secrets = often([process.env.SHOP_TOKEN, process.env.SHOP_SETTING, process.argv[4]])
process.stderr.write(secrets + '\\n' + secrets)
if (manner === 'ends') process.exit(3)
const send = (id, more) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...more }) + '\\n')
require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
  const { id, method } = JSON.parse(line)
  const error = { code: -32603, message: 'refused: ' + secrets }
  if (id === undefined) return
  if (manner === 'refuses') return send(id, { error })
  if (method === 'initialize')
    return send(id, { result: { protocolVersion: '2025-06-18', capabilities: { tools: {} },
      serverInfo: { name: process.env.SHOP_TOKEN, version: process.env.SHOP_SETTING } } })
  if (method === 'tools/list')
    return send(id, { result: { tools: [{ name: 'look', description: secrets, inputSchema: { type: 'object' } }] } })
  send(id, { error })
})
`

const agentProgram = `${OFTEN}
const secrets = often([process.env.LEAKY_TOKEN, process.env.LEAKY_SETTING, process.argv[3]])
process.stderr.write(secrets + '\\n' + secrets)
require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
  const { id } = JSON.parse(line)
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32603, message: secrets, data: { details: secrets } } }) + '\\n')
})
`

const scriptProgram = `${OFTEN}
const secrets = often([process.env.JOB_TOKEN])
process.stdout.write(secrets)
process.stderr.write(secrets)
if (!process.env.NO_FAILURE) process.exit(4)
`

const writeFailing = (app: TestApp, url: string): void => {
  const put = (path: string, text: string) => {
    mkdirSync(join(app.home, path, '..'), { recursive: true })
    writeFileSync(join(app.home, path), text, { mode: 0o600 })
  }
  const server = (manner: string) => ({
    command: process.execPath,
    args: [join(app.home, 'server.cjs'), manner, '--api-key', FAILING.serverArgument],
    env: { SHOP_TOKEN: FAILING.serverNamed, SHOP_SETTING: FAILING.serverRandom },
  })
  const config = {
    model: {
      provider: 'custom',
      base_url: url,
      api_key: FAILING.provider,
      default: 'test-model',
    },
    custom_providers: [
      {
        name: 'walled',
        base_url: `http://me:${FAILING.addressPassword}@127.0.0.1:9/v1?api_key=${FAILING.addressKey}`,
        models: ['odd'],
      },
    ],
    agent: { api_max_retries: 0 },
    providers: {
      leaky: {
        name: 'Leaky',
        acp_command: process.execPath,
        acp_args: [join(app.home, 'agent.cjs'), '--token', FAILING.agentArgument],
        env: { LEAKY_TOKEN: FAILING.agentNamed, LEAKY_SETTING: FAILING.agentRandom },
      },
    },
    mcp_servers: { ends: server('ends'), refuses: server('refuses'), answers: server('answers') },
  }
  put('config.yaml', JSON.stringify(config))
  put('.env', `JOB_TOKEN=${FAILING.script}\n`)
  put('server.cjs', serverProgram)
  put('agent.cjs', agentProgram)
  put('scripts/job.js', scriptProgram)
}

/** Paths that answer without an end, or with a page that is the same for everybody. */
const WITHOUT_SECRETS =
  /^\/(?:$|index|settings|tasks|profiles|skills|memory|usage|session\/|static\/|favicon|login$)|\/inject_test$|^\/api\/(?:events|media\/remote|updates\/check|openapi\.json|chat\/cancel|(?:approval|clarify|sessions\/gateway)\/stream)$/

/** How each other path is asked; a path in none of them is asked as it is. */
const pathsToAsk = (given: Record<string, string>): string[] => {
  const queries: [RegExp, string[]][] = [
    [/^\/api\/session\/message$/, ['session_id', 'id']],
    [
      /^\/api\/(?:session|processes|process|git|git-info|list|queue|rollback|background|folder|clarify|approval)\b/,
      ['session_id'],
    ],
    [/^\/api\/crons\/(?:output|history|status)$/, ['job_id']],
    [/^\/api\/chat\/stream/, ['stream_id']],
    [/^\/api\/sessions\/search$/, ['q']],
    [/^\/api\/file/, ['session_id', 'path']],
    [/^\/api\/workspaces\/suggest$/, ['prefix']],
  ]
  return Object.keys({ ...routes, ...patternRoutes }).flatMap(route => {
    const [method, path = ''] = route.split(' ')
    if (method !== 'GET' || WITHOUT_SECRETS.test(path)) return []
    const names = queries.find(([pattern]) => pattern.test(path))?.[1] ?? []
    const query = names.map(name => `${name}=${encodeURIComponent(given[name] ?? '')}`).join('&')
    return [`${path.replace(/:\w+$/, 'general')}?${query}`]
  })
}

const saidOften = (text: string): string => Array(700).fill(text).join(' ')

test('errors contain no secret: providers, servers, agents, subagents, scheduled tasks', async () => {
  const provider = await createProvider()
  const app = await startApp({ allowErrors: true })
  const found: string[] = []
  const look = (where: string, text: string): void =>
    void found.push(...piecesIn(text).map(piece => `${where}: ${piece}`))
  try {
    writeFailing(app, provider.url)
    const workspace = join(app.userHome, 'work')
    mkdirSync(workspace)
    const newSession = async (model?: string): Promise<string> =>
      (await app.post('/api/session/new', model ? { workspace, model } : { workspace })).body
        .session.session_id
    const streams: string[] = []
    const turn = async (session_id: string, message: string): Promise<void> => {
      const started = await app.post('/api/chat/start', { session_id, message })
      look(`chat/start of ${message.slice(0, 20)}`, started.text)
      const { stream_id } = started.body
      streams.push(stream_id)
      for await (const event of app.events(`/api/chat/stream?stream_id=${stream_id}`)) {
        look(`${message.slice(0, 20)}: ${event.event}`, JSON.stringify(event))
        if (event.event === 'stream_end') break
      }
    }
    const refused = {
      status: 400,
      body: { error: { message: `cannot: ${saidOften(FAILING.provider)}` } },
    }
    const delegates = {
      toolCalls: [{ id: 'd1', name: 'delegate_task', arguments: { goal: 'Look' } }],
    }
    const asks = { toolCalls: [{ id: 'm1', name: 'mcp_answers_look', arguments: {} }] }

    const sessions = {
      provider: await newSession(),
      subagent: await newSession(),
      agent: await newSession('@acp:leaky'),
    }
    provider.push(refused)
    await turn(sessions.provider, `the key is ${saidOften(FAILING.provider)}`)
    provider.push(delegates, refused, asks, { text: 'So be it.' }, { text: 'A title' })
    await turn(sessions.subagent, 'the subagent fails')
    await turn(sessions.agent, 'the agent fails')
    look(
      'agent/open',
      (await app.post('/api/session/agent/open', { session_id: sessions.agent })).text,
    )
    for (const name of ['ends', 'refuses', 'answers'])
      look(`mcp/test ${name}`, (await app.post('/api/mcp/test', { name })).text)

    const job = await create(app, { script: 'job.js', name: '', prompt: saidOften(FAILING.script) })
    await runNow(app, job)
    const output = join(app.home, 'cron', 'output', job)
    writeFileSync(join(output, '2020-01-01_00-00-00.md'), saidOften(FAILING.script))

    const given = {
      id: 'm1',
      job_id: job,
      stream_id: streams.at(-1) ?? '',
      q: 'the',
      path: '.',
      prefix: workspace,
    }
    const paths = Object.values(sessions).flatMap(session_id =>
      pathsToAsk({ session_id, ...given }),
    )
    for (const path of new Set(paths)) look(path, (await app.get(path)).text)
    // What the person wrote is for the model; everything else it reads is masked.
    for (const { body } of provider.requests)
      look(
        'request',
        JSON.stringify(body.messages.filter(({ role }: { role: string }) => role !== 'user')),
      )
    for (const path of ['/api/providers/test', '/api/onboarding/probe'])
      look(path, (await app.post(path, { provider: 'custom:walled', model: 'odd' })).text)
    look('live', (await app.get('/api/models/live?provider=custom:walled')).text)
    look('log', app.lines.join('\n'))
    assert.equal([...new Set(found)], [])
  } finally {
    await app.close()
    await provider.close()
  }
})

if (process.env.PROOF === 'full')
  test('while every approval is denied', async () => assert.equal(await attack(false), []))
test('while everything is allowed', async () => assert.equal(await attack(true), []))

test.run()
