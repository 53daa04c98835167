/**
 * Keys leave nowhere: a model and an MCP server that repeat every key in every field they can send; then every GET of the
 * route table, every stream, export, file and log line is read, and none has one of them.
 */
import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { spellingsOf } from '../../lib/base/redact/spellings.ts'
import { patternRoutes, routes } from '../../router.ts'
import { startApp, type TestApp } from '../_app.ts'
import { createProvider, delta, frame, type Scripted } from '../_provider.ts'

const test = suite('keys leave nowhere')

const KEYS = {
  api: 'profile-Kq83hfLmz0PwXs71',
  dotenv: 'base+Dot/Env=9f8e7d6c5b4a',
  header: 'mcpHeaderZ9y8X7w6V5u4',
  variable: 'mcpVariable42"AbC\\dEf',
  password: 'Tr0ub4dor&3-the-door',
} as const
const ALL = Object.values(KEYS).join(' ')

const leaksIn = (where: string, text: string): string[] =>
  Object.entries(KEYS).flatMap(([name, key]) => {
    const found = spellingsOf(key).find(spelling => text.includes(spelling))
    if (found === undefined) return []
    const at = text.indexOf(found)
    return [`${where}: ${name} in …${JSON.stringify(text.slice(Math.max(0, at - 60), at + 50))}`]
  })

/** Every field of every message that the protocol lets a server fill. */
const server = `
const keys = ${JSON.stringify(ALL)}
const word = keys.split(' ')[0]
const text = { type: 'text', text: keys, annotations: { audience: ['user'] } }
const send = message => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n')
let asked = 0
const waiting = new Map()
const ask = (method, params, then) => {
  waiting.set('q' + ++asked, then)
  send({ id: 'q' + asked, method, params })
}
process.stderr.write(keys + '\\n')
const properties = { [word]: { type: 'string', title: keys, description: keys } }
const answers = {
  initialize: () => ({ protocolVersion: '2025-06-18', capabilities: { tools: {}, resources: {}, prompts: {}, logging: {} },
    serverInfo: { name: keys, title: keys, version: keys }, instructions: keys }),
  'tools/list': () => ({ tools: [
    { name: 'look', title: keys, description: keys, inputSchema: { type: 'object', properties } },
    { name: word, description: keys, inputSchema: { type: 'object' } },
    { name: 'erase', description: keys, inputSchema: { type: 'object' }, annotations: { title: keys, destructiveHint: true } },
  ] }),
  'resources/list': () => ({ resources: [{ uri: 'file:///' + word, name: keys, title: keys, description: keys, mimeType: word }] }),
  'resources/templates/list': () => ({ resourceTemplates: [{ uriTemplate: word + '/{x}', name: keys, description: keys }] }),
  'resources/read': () => ({ contents: [{ uri: 'file:///' + word, text: keys, mimeType: word }] }),
  'prompts/list': () => ({ prompts: [{ name: word, title: keys, description: keys, arguments: [{ name: word, description: keys }] }] }),
  'prompts/get': () => ({ description: keys, messages: [{ role: 'user', content: text }] }),
  'tools/call': () => ({ content: [text, { type: 'resource', resource: { uri: word, text: keys } }, { type: 'hologram', keys }],
    structuredContent: { [word]: keys }, _meta: { [word]: keys }, isError: true }),
}
require('node:readline').createInterface({ input: process.stdin }).on('line', line => {
  const { id, method, params } = JSON.parse(line)
  if (method === undefined) return waiting.get(id)?.()
  if (id === undefined) return
  send({ method: 'notifications/message', params: { level: 'error', logger: keys, data: keys } })
  const token = params?._meta?.progressToken
  if (token !== undefined) send({ method: 'notifications/progress', params: { progressToken: token, progress: 1, total: 2, message: keys } })
  const reply = () => answers[method] ? send({ id, result: answers[method]() }) : send({ id, error: { code: -32603, message: keys, data: keys } })
  if (method !== 'tools/call') return reply()
  ask('elicitation/create', { message: keys, requestedSchema: { type: 'object', properties: { color: { type: 'string', title: keys, description: keys, enum: [keys, 'red'] } } } },
    () => ask('sampling/createMessage', { messages: [{ role: 'user', content: text }], systemPrompt: keys, maxTokens: 10, modelPreferences: { hints: [{ name: keys }] } }, reply))
})
`

const put = (root: string, path: string, text: string): void => {
  mkdirSync(join(root, path, '..'), { recursive: true })
  writeFileSync(join(root, path), text, { mode: 0o600 })
}

const writeHome = (app: TestApp, url: string): void => {
  put(app.home, 'server.cjs', server)
  put(app.home, '.env', `GLM_API_KEY="${KEYS.dotenv}"\n`)
  const config = {
    model: { provider: 'custom', base_url: url, api_key: KEYS.api, default: 'test-model' },
    agent: { api_max_retries: 0 },
    checkpoints: { enabled: false },
    mcp_servers: {
      talks: {
        command: process.execPath,
        args: [join(app.home, 'server.cjs')],
        env: { SHOP_TOKEN: KEYS.variable },
        sampling: { enabled: true },
      },
      far: {
        enabled: false,
        url: 'https://mcp.example.org/',
        headers: { Authorization: `Bearer ${KEYS.header}` },
      },
    },
  }
  put(app.home, 'config.yaml', JSON.stringify(config))
}

const inPieces = (text: string, size: number): string[] =>
  text.match(new RegExp(`[\\s\\S]{1,${size}}`, 'g')) ?? []

/** Turns in which the model repeats the keys in every field of a response, and the server in every one of a call. */
const scriptKeys = (provider: Scripted): string[] => {
  provider.models = [KEYS.api, ALL, 'test-model']
  const usage = { prompt_tokens: 1, completion_tokens: 1, [KEYS.api]: ALL, note: ALL }
  const head = { id: KEYS.api, model: ALL, system_fingerprint: ALL, provider: ALL }
  const raw = (chunks: object[]) => ({
    raw: `${chunks.map(chunk => frame({ ...head, ...chunk })).join('')}data: [DONE]\n\n`,
  })
  const call = (name: string, args: unknown = {}, id = 'c') => ({
    toolCalls: [{ id, name, arguments: args as Record<string, unknown> }],
  })
  const rounds = [1, 7, 40].map(size => ({
    reasoning: inPieces(ALL, size),
    text: inPieces(`Look: ${ALL}`, size),
    refusal: ALL,
    finish: ALL,
    usage,
  }))
  provider.push(
    ...rounds,
    // The request for the title follows the first answer.
    raw([delta({ content: `Look: ${ALL}` }), delta({}, ALL), { choices: [], usage }]),
    {
      status: 400,
      headers: { 'x-request-id': KEYS.api },
      body: { error: { message: ALL, type: ALL, code: ALL, param: ALL } },
    },
    { status: 429, headers: { 'retry-after': '0' }, body: ALL },
    raw([{ error: { message: ALL, code: KEYS.api, metadata: { raw: ALL } } }]),
    call(KEYS.api, { [KEYS.api]: ALL }, KEYS.api),
    call('terminal', { command: `echo '${ALL}' # ${KEYS.api}`, workdir: KEYS.api }),
    call('todo', { todos: [{ id: KEYS.api, content: ALL, status: 'pending' }] }),
    call('clarify', { question: ALL, choices: [ALL, 'no'] }),
    call('write_file', { path: `${KEYS.api}.txt`, content: 'x' }),
    call('mcp_talks_look', { [KEYS.api]: ALL }),
    call('mcp_talks_erase', { [KEYS.api]: ALL }),
    ...['list_resources', 'list_prompts'].map(name => call(`mcp_talks_${name}`)),
    call('mcp_talks_read_resource', { uri: `file:///${KEYS.api}` }),
    call('mcp_talks_get_prompt', { name: KEYS.api }),
    call('delegate_task', { goal: ALL, context: ALL }),
    { text: ALL },
    call('cronjob', {
      action: 'create',
      prompt: 'Say it',
      name: KEYS.api,
      schedule: '2099-01-01T00:00',
    }),
    { text: inPieces(ALL, 3), finish: 'length' },
  )
  provider.otherwise = () => ({ text: inPieces(`Title ${ALL}`, 5), usage, finish: ALL })
  return ['one', 'two', 'three', 'four', 'five', 'six', 'seven']
}

/** Streams without an end, those that are followed below, and what has an effect or asks another host. */
const NOT_ASKED =
  /\/stream$|\/inject_test$|^\/api\/(?:events|chat\/cancel|media\/remote|updates\/check|terminals?\/)/

/** The owner's own view of a file, as SECURITY.md says. */
const EXACT = /^\/api\/(?:file(?:$|\/)|folder\/download|media$|backups\/download)/

const valuesFor = (given: Record<string, string>): Record<string, string> => ({
  ...given,
  q: 'Look',
  path: '.',
  prefix: given.workspace ?? '',
  profile: 'default',
  name: 'talks',
  kind: 'commands',
  format: 'md',
  provider: 'custom',
})

/** Every GET of the route table, with values for the fields that it takes; exports in each format. */
const pathsOf = (values: Record<string, string>): string[] =>
  Object.entries({ ...routes, ...patternRoutes }).flatMap(([route, endpoint]) => {
    const [method, path = ''] = route.split(' ')
    if (method !== 'GET' || NOT_ASKED.test(path) || EXACT.test(path)) return []
    const shape = (endpoint as { input?: { shape?: Record<string, unknown> } }).input?.shape ?? {}
    const query = Object.keys(shape)
      .filter(field => values[field] !== undefined && (field !== 'profile' || /profile/.test(path)))
      .map(field => `${field}=${encodeURIComponent(values[field] ?? '')}`)
      .join('&')
    const asked = `${path.replace(/:\w+$/, 'general')}?${query}`
    return 'format' in shape
      ? ['md', 'html', 'json'].map(format => asked.replace('format=md', `format=${format}`))
      : [asked]
  })

/** Private files: a later step needs the real arguments of a call, and what is found in the index is masked when it is shown. */
const PRIVATE = /^\/(?:sessions\/|cache\/search\.db)/

const filesBelow = (dir: string): string[] =>
  readdirSync(dir).flatMap(name => {
    const path = join(dir, name)
    return statSync(path).isDirectory() ? filesBelow(path) : name === '.signing_key' ? [] : [path]
  })

test('a model and an MCP server repeat every key in every field', async () => {
  await using provider = await createProvider()
  await using app = await startApp({
    allowErrors: true,
    env: { AGENT_WEBUI_PASSWORD: KEYS.password },
  })
  const found: string[] = []
  const look = (where: string, text: string) => void found.push(...leaksIn(where, text))
  writeHome(app, provider.url)
  const signedIn = await app.post('/api/auth/login', { password: KEYS.password })
  const headers = { Cookie: String(signedIn.headers['set-cookie']).split(';')[0] ?? '' }
  const get = (path: string) => app.request('GET', path, { headers })
  const post = (path: string, body: object) => app.request('POST', path, { headers, body })
  const workspace = join(app.userHome, 'work')
  mkdirSync(workspace)
  await post('/api/workspaces/add', { path: workspace })
  const made = await post('/api/session/new', { workspace })
  const id: string = made.body.session.session_id

  const live = app.events(`/api/events?sources=session:${id},list,inbox,notices`, { headers })
  const listening = (async () => {
    for await (const event of live) {
      look(`/api/events ${event.event}`, JSON.stringify(event))
      const { kind, approval_id, clarify_id } = event.data.data ?? {}
      if (event.event !== 'asked') continue
      const answer = { session_id: id, approval_id, clarify_id }
      if (kind === 'approval') await post('/api/approval/respond', { ...answer, choice: 'session' })
      else await post('/api/clarify/respond', { ...answer, response: 'red' })
    }
  })()
  let stream = ''
  for (const message of scriptKeys(provider)) {
    const started = await post('/api/chat/start', { session_id: id, message })
    look('chat/start', started.text)
    stream = started.body.stream_id
    for await (const event of app.events(`/api/chat/stream?stream_id=${stream}`, { headers })) {
      look(`stream of ${message}: ${event.event}`, JSON.stringify(event))
      if (event.event === 'stream_end') break
    }
  }
  const { session } = (await get(`/api/session?session_id=${id}`)).body
  assert.match(session.title, /profil\.\.\.Xs71|Look/)
  assert.ok(provider.requests.length > 20, `${provider.requests.length} requests`)
  // What the person wrote is for the model, and to its own provider the model said the rest.
  for (const { body } of provider.requests)
    look('tools of a request', JSON.stringify(body.tools ?? []))
  const tested = await post('/api/mcp/test', { name: 'talks' })
  look('mcp/test', tested.text)
  look('models/refresh', (await post('/api/models/refresh', {})).text)
  look('models/live', (await get('/api/models/live?provider=custom')).text)
  for (const path of ['/api/providers/test', '/api/onboarding/probe'])
    look(path, (await post(path, { provider: 'custom', model: KEYS.api })).text)
  const jobs = (await get('/api/crons')).body.jobs
  const values = valuesFor({
    session_id: id,
    stream_id: stream,
    workspace,
    id: session.messages.at(-1).id,
    job_id: jobs[0]?.id ?? 'none',
  })
  for (const path of new Set(pathsOf(values))) {
    const answer = await get(path)
    assert.ok(answer.status < 500 || answer.status === 503, `${path}: ${answer.text.slice(0, 200)}`)
    look(path, `${answer.text}\n${JSON.stringify(answer.headers)}`)
  }
  live.close()
  await listening
  look('log', app.lines.join('\n'))
  for (const path of filesBelow(app.state))
    if (!PRIVATE.test(path.slice(app.state.length)))
      look(path.slice(app.state.length), readFileSync(path, 'latin1'))
  assert.equal([...new Set(found)].slice(0, 40), [])
})

test('only files of the person, static assets, and secrets that are shown once are sent as they are', () => {
  const exact = Object.entries({ ...routes, ...patternRoutes }).flatMap(([route, endpoint]) =>
    'exact' in endpoint && endpoint.exact === true ? [route] : [],
  )
  assert.equal(exact.toSorted(), [
    'GET /api/file',
    'GET /api/file/raw',
    'GET /static/*',
    'POST /api/auth/totp/enable',
    'POST /api/auth/totp/start',
    'POST /api/notifications/services',
  ])
})

test.run()
