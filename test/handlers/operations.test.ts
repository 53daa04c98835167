/** What an operator sees: request ids, secrets in the log, readiness, metrics. */
import { chmodSync, rmSync } from 'node:fs'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTestClock } from '../_clock.ts'
import { thisMachine } from '../../lib/operations/checks/machine.ts'
import { Readiness } from '../../lib/app/readiness.ts'
import { startApp, type TestApp, tokenHeaders } from '../_app.ts'
import { tempDir } from '../_temp-dir.ts'

const TOKEN = 'metrics-0123456789abcdef'

const test = suite<{ app: TestApp }>('operations')
test.before(async context => {
  context.app = await startApp({
    env: { AGENT_WEBUI_METRICS_TOKEN: TOKEN, AGENT_WEBUI_LOG: 'json' },
    allowErrors: true,
  })
})
test.after(({ app }) => app.close())

const scrape = (app: TestApp, accept = '', authorization = `Bearer ${TOKEN}`) =>
  fetch(`${app.url}/metrics`, { headers: { accept, authorization } })

test('metrics: 401 without the token, with another one, and with one of the API', async ({
  app,
}) => {
  const given = (await tokenHeaders(app)).Authorization ?? ''
  for (const authorization of ['', 'Bearer ', 'Bearer wrong', `Basic ${TOKEN}`, given]) {
    const answer = await scrape(app, '', authorization)
    assert.is(answer.status, 401, authorization)
    assert.is(answer.headers.get('www-authenticate'), 'Bearer')
    assert.not.match(await answer.text(), 'agent_webui')
  }
  assert.is((await fetch(`${app.url}/metrics?token=${TOKEN}`)).status, 401)
})

type Family = { type: string; samples: { name: string; labels: Record<string, string> }[] }

/** A strict reader of the OpenMetrics text format 1.0: throws for what its grammar forbids. */
const parse = (text: string, isOpen: boolean): Map<string, Family> => {
  const families = new Map<string, Family>()
  const seen = new Set<string>()
  const lines = text.split('\n')
  if (isOpen) assert.equal(lines.splice(-2), ['# EOF', ''])
  let current: [string, Family] | undefined
  for (const line of lines) {
    if (line === '' && !isOpen) continue
    const comment = /^# (HELP|TYPE) ([a-zA-Z_:][\w:]*) (.+)$/.exec(line)
    if (comment) {
      const [, kind, name = '', rest = ''] = comment
      if (kind === 'HELP') continue
      assert.not.ok(families.has(name), `${name} twice`)
      assert.ok(['counter', 'gauge', 'histogram', 'summary'].includes(rest), line)
      if (isOpen && rest === 'counter') assert.not.match(name, /_total$/)
      current = [name, { type: rest, samples: [] }]
      families.set(...current)
      continue
    }
    const sample =
      /^([a-zA-Z_:][\w:]*)(?:\{((?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\[\\"n])*",?)*)\})? (-?\d[\d.e+-]*|\+Inf|-Inf|NaN)$/.exec(
        line,
      )
    assert.ok(sample && current, `not a sample: ${line}`)
    const [, name = '', labels = ''] = sample ?? []
    const [family, { type, samples }] = current as [string, Family]
    const endings = type === 'counter' && isOpen ? ['_total'] : ['', '_bucket', '_sum', '_count']
    assert.ok(
      endings.some(ending => name === `${family}${ending}`),
      line,
    )
    assert.not.ok(seen.has(`${name}{${labels}`), `twice: ${line}`)
    seen.add(`${name}{${labels}`)
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, k, v]) => [k, v])
    samples.push({ name, labels: Object.fromEntries(pairs) })
  }
  return families
}

test('metrics: OpenMetrics where it is asked for, else Prometheus text; both are well formed', async ({
  app,
}) => {
  const session = (await app.post('/api/session/new', {})).body.session.session_id
  await app.get(`/api/session?session_id=${session}`)
  await app.get('/nowhere/sk-secret')
  await fetch(`${app.url}/health`, { method: 'PROPFIND' }).catch(() => undefined)
  // In both orders: one format must not change the other.
  await scrape(app, 'application/openmetrics-text')
  const [open, plain] = await Promise.all([
    scrape(app, 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5'),
    scrape(app),
  ])
  assert.match(plain.headers.get('content-type') ?? '', /^text\/plain; version=0\.0\.4/)
  assert.match(
    open.headers.get('content-type') ?? '',
    /^application\/openmetrics-text; version=1\.0/,
  )
  const found = parse(await plain.text(), false)
  const text = await open.text()
  const families = parse(text, true)
  const wanted = [
    'http_requests',
    'turns_running',
    'queued_messages',
    'event_streams',
    'model_tokens',
  ]
  for (const name of wanted) assert.ok(families.has(`agent_webui_${name}`), name)
  assert.ok(found.has('agent_webui_http_requests_total'))
  assert.ok(families.has('process_resident_memory_bytes'))
  const routes = families.get('agent_webui_http_requests')?.samples.map(({ labels }) => labels)
  assert.ok(routes?.some(({ route, status }) => route === '/api/session' && status === '200'))
  assert.ok(routes?.some(({ route, status }) => route === 'none' && status === '404'))
  // The ending of a counter.
  for (const [name, { type }] of found)
    assert.ok(!name.endsWith('_total') || type === 'counter', name)
  for (const name of families.keys()) assert.ok(!name.endsWith('_total'), name)
  // No label has an id, a path, or a query.
  assert.not.match(text, new RegExp(`${session}|nowhere|sk-secret|PROPFIND`))
})

test('metrics and the collector’s library do not exist without a token', async () => {
  const plain = await startApp()
  assert.is((await scrape(plain)).status, 404)
  await plain.close()
})

test('a response names its request, and so does each line about it; a proxy may name it', async ({
  app,
}) => {
  const ids = await Promise.all(
    ['', 'a b', 'x'.repeat(200)].map(async given => {
      const answer = await fetch(`${app.url}/api/nothing`, { headers: { 'x-request-id': given } })
      return answer.headers.get('x-request-id') ?? ''
    }),
  )
  assert.is(new Set(ids).size, 3)
  for (const id of ids) assert.match(id, /^[0-9a-f]{12}-[0-9a-z]+$/)
  const named = await fetch(`${app.url}/api/nothing`, { headers: { 'x-request-id': 'proxy-77' } })
  assert.is(named.headers.get('x-request-id'), 'proxy-77')
  // Anthropic's clients read another header, and the id of the body.
  const other = await app.post(
    '/v1/messages',
    {},
    { headers: { 'anthropic-version': '2023-06-01' } },
  )
  assert.is(other.headers['request-id'], other.headers['x-request-id'])
  assert.is(other.body.request_id, other.headers['x-request-id'])
  await app.get('/health')
  await app.get('/ready')
  await app.restart()
  const lines = app.lines.map(line => JSON.parse(line))
  for (const id of [...ids, 'proxy-77'])
    assert.ok(
      lines.some(({ request_id, path }) => request_id === id && path === '/api/nothing'),
      id,
    )
  assert.ok(lines.some(({ request_id }) => request_id === other.headers['x-request-id']))
  const checks = lines.filter(({ path }) => path === '/health' || path === '/ready')
  assert.not.ok(checks.some(({ status }) => status === 200))
})

test('no secret is in the log, whatever part of a request it is in', async ({ app }) => {
  const key = 'sk-proj-abcdefghijklmnopqrstuvwxyz0123456789'
  const token = (await tokenHeaders(app)).Authorization?.slice('Bearer '.length) ?? ''
  for (const secret of [key, token, TOKEN, 'ghp_abcdefghijklmnopqrstuvwxyz0123456789']) {
    await fetch(`${app.url}/api/${secret}`, {
      headers: { 'user-agent': secret, referer: `http://x/${secret}`, 'x-request-id': secret },
    })
    await fetch(`${app.url}/share/${secret}?key=${secret}`)
    await app.post('/api/providers', { provider: 'openai', api_key: secret })
    await app.post('/api/auth/login', { password: secret })
  }
  await app.restart()
  const text = app.lines.join('\n')
  for (const secret of [key, token, TOKEN, 'ghp_abcdefghijklmnopqrstuvwxyz0123456789'])
    assert.not.ok(text.includes(secret), secret)
})

test('ready: 200, and 503 with a reason while the state directory cannot be written', async ({
  app,
}) => {
  const { status, body } = await app.get('/ready')
  assert.equal([status, body], [200, { status: 'ready', reasons: [] }])
  if (process.getuid?.() === 0) return
  const other = await startApp()
  chmodSync(other.state, 0o500)
  const answer = await other.get('/ready')
  assert.equal([answer.status, answer.body.reasons[0].code], [503, 'state_not_writable'])
  chmodSync(other.state, 0o700)
  await other.close()
})

test('ready: not before the start, not during the shutdown, not on a full or lost disk', async () => {
  let free = 1e12
  let error: unknown = null
  const clock = createTestClock()
  const state = tempDir('state')
  const machine = { ...thisMachine, accessError: () => error, freeBytes: () => free }
  const readiness = new Readiness(state, machine, { clock })
  const codes = async () => {
    await clock.advance(1_000)
    return readiness.reasons().map(({ code }) => code)
  }
  assert.equal(await codes(), ['starting'])
  readiness.enter('running')
  assert.equal(await codes(), [])
  free = 4_096
  assert.equal(await codes(), ['disk_full'])
  error = new Error('read-only')
  assert.equal(await codes(), ['state_not_writable'])
  readiness.enter('stopping')
  assert.equal(await codes(), ['stopping', 'state_not_writable'])
  error = null
  // The disk is asked once a second, for all requests together.
  assert.equal(
    readiness.reasons().map(({ code }) => code),
    ['stopping', 'state_not_writable'],
  )
  assert.not.match(JSON.stringify(readiness.reasons()), state)
  rmSync(state, { recursive: true })
  error = null
  // Deleted while the service runs.
  assert.equal(await codes(), ['stopping', 'state_not_writable'])
})

test.run()
