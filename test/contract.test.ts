/** Walks the route table, so that a new line in it is tested before anybody writes a test: form, document, door, hostile input. */
import { globSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import type { AnyEndpoint } from '../lib/http/endpoint.ts'
import { routes, patternRoutes } from '../router.ts'
import { startApp, type TestApp, tokenHeaders } from './_app.ts'
import { loadAssets } from './_assets.ts'
import {
  CANARY,
  hostileBodies,
  hostilePaths,
  hostileTexts,
  hostileValues,
  LEAKS,
  wrongMethods,
} from './_hostile.ts'
import type { Answer, RequestOptions } from './_http.ts'

type Route = { key: string; method: string; path: string; endpoint: AnyEndpoint }

const routesOf = (table: object): Route[] =>
  Object.entries(table).map(([key, endpoint]) => {
    const [method = '', path = ''] = key.split(' ')
    return { key, method, path, endpoint }
  })
const exact = routesOf(routes)
const open = routesOf(patternRoutes)
const all = [...exact, ...open]
/** A path that can be asked for: open segments filled in. */
const concrete = (path: string) =>
  path.replace(/\/:\w+$/, '/appearance').replace(/\/\*$/, '/none.js')

/** contract §4: everything else needs a cookie once a password is set. */
const PUBLIC = [
  'GET /login',
  'GET /health',
  // Names a reason, and no path.
  'GET /ready',
  // Asks for a token of its own, and does not exist without one.
  'GET /metrics',
  'GET /favicon.ico',
  'GET /static/*',
  // Programs and names without data: a browser loads both without its cookie.
  'GET /manifest.webmanifest',
  'GET /sw.js',
  // Say what a proxy sent with this request, and whether it passes events on at once.
  'GET /api/proxy-check',
  'POST /api/proxy-check',
  // Admits by an unguessable token and shows one chat, read-only.
  'GET /share/:token',
  'POST /api/auth/login',
  // Signs a device in with a code that works once, for five minutes.
  'POST /api/auth/pair/use',
  // Answers one question with a token that is valid once.
  'POST /api/notifications/answer',
  // Accepts an invitation with a code that works once, for a day.
  'POST /api/people/accept',
  'POST /api/people/accept/passkey',
  'POST /api/people/accept/passkey/options',
  'POST /api/people/accept/provider',
  // Signing in with a passkey.
  'POST /api/auth/passkey/options',
  'POST /api/auth/passkey/login',
  // Signing in with an OpenID Connect provider: to it, and back.
  'GET /api/auth/oidc/start',
  'GET /api/auth/oidc/callback',
  'GET /api/auth/status',
  // Has no effect: the text that it is given goes back in the address of a page.
  'POST /share-target',
]

const form = suite('contract: form')

form('every summary is one sentence without a period', () => {
  const wrong = all.filter(({ endpoint: { summary } }) => !/^[A-Z].{4,140}[^.\s]$/s.test(summary))
  assert.equal(
    wrong.map(({ key, endpoint }) => `${key}: ${endpoint.summary}`),
    [],
  )
})

form('every response is described: JSON by a schema, others by media type', () => {
  const wrong = all.filter(
    ({ endpoint }) => (endpoint.output === undefined) === (endpoint.raw === undefined),
  )
  assert.equal(
    wrong.map(({ key }) => key),
    [],
  )
})

form('the public routes are those of the contract', () => {
  const found = all.filter(({ endpoint }) => endpoint.public).map(({ key }) => key)
  assert.equal(found.toSorted(), PUBLIC.toSorted())
})

form('every path is named in another test', () => {
  const texts = globSync('test/**/*.test.{ts,tsx}')
    .filter(file => !file.endsWith('contract.test.ts'))
    .map(file => readFileSync(file, 'utf8'))
    .join('\n')
  const names = (path: string) => {
    const start = path.replace(/\/[:*].*$/, '/')
    const pattern = start.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
    // The whole path: `/api/session` is not tested by a test of `/api/session/new`.
    return new RegExp(`${pattern}${start.endsWith('/') ? '' : '(?![\\w/-])'}`).test(texts)
  }
  assert.equal(
    all.filter(({ path }) => !names(path)).map(({ key }) => key),
    [],
  )
})

form.run()

const served = suite<{ app: TestApp }>('contract: served')
served.before(async state => {
  state.app = await startApp()
})
served.after(({ app }) => app.close())

served('the OpenAPI document describes every route', async ({ app }) => {
  type Operation = { summary: string; responses: Record<string, unknown>; operationId: string }
  const answer = await app.get('/api/openapi.json')
  assert.is(answer.status, 200)
  const document = answer.body as {
    openapi: string
    info: { title: string; version: string }
    paths: Record<string, Record<string, Operation>>
    components: { schemas: Record<string, unknown> }
  }
  assert.match(document.openapi, /^3\.1\./)
  assert.type(document.info.version, 'string')
  const operations = Object.values(document.paths).flatMap(each => Object.values(each))
  assert.is(operations.length, all.length)
  for (const { method, path, endpoint } of all) {
    const name = path.replace(/\/:(\w+)$/, '/{$1}').replace(/\/\*$/, '/{path}')
    const operation = document.paths[name]?.[method.toLowerCase()]
    assert.is(operation?.summary, endpoint.summary, name)
    assert.ok(operation?.responses['200'], name)
  }
  assert.is(new Set(operations.map(({ operationId }) => operationId)).size, all.length)
  const named = new Set(Object.keys(document.components.schemas))
  for (const [, name = ''] of answer.text.matchAll(/"#\/components\/schemas\/([^"]+)"/g)) {
    assert.ok(named.has(name), `${name} is referred to and not there`)
  }
})

served.run()

const door = suite<{ app: TestApp }>('contract: authentication')
door.before(async state => {
  state.app = await startApp({ env: { AGENT_WEBUI_PASSWORD: 'a long password' } })
})
door.after(({ app }) => app.close())

for (const { key, method, path, endpoint } of all) {
  if (endpoint.public || endpoint.byToken) continue
  door(`${key} requires a session`, async ({ app }) => {
    const cookies = [
      undefined,
      'agent_session=',
      `agent_session=${'0'.repeat(64)}.${'0'.repeat(32)}`,
    ]
    for (const cookie of cookies) {
      const answer = await app.request(method, concrete(path), {
        headOnly: true,
        headers: cookie ? { Cookie: cookie } : {},
        ...(method === 'POST' ? { body: {} } : {}),
      })
      if (endpoint.page) assert.equal([answer.status, answer.headers.location], [302, '/login'])
      else {
        assert.is(answer.status, 401)
        assert.equal(answer.body, { error: 'Authentication required', code: 'sign_in_required' })
      }
      checkHeaders(answer)
    }
  })
}

for (const { key, method, path, endpoint } of all) {
  if (!endpoint.byToken) continue
  door(`${key} requires a token, and the API to be on`, async ({ app }) => {
    const ask = (headers: Record<string, string>) =>
      app.request(method, concrete(path), { headers, ...(method === 'POST' ? { body: {} } : {}) })
    const off = await ask({})
    assert.is(off.status, 404)
    assert.match(off.body.error.message, 'The API is off')
    const login = await app.post('/api/auth/login', { password: 'a long password' })
    const cookie = String(login.headers['set-cookie']).split(';')[0] ?? ''
    await app.post('/api/tokens/enable', { enabled: true }, { headers: { cookie } })
    const answer = await ask({ cookie })
    assert.is(answer.status, 401)
    checkHeaders(answer)
    await app.post('/api/tokens/enable', { enabled: false }, { headers: { cookie } })
  })
}

door('unknown paths require a session as well', async ({ app }) => {
  assert.is((await app.get('/api/nothing')).status, 401)
  assert.is((await app.post('/api/nothing')).status, 401)
  assert.is((await app.get('/nothing')).status, 302)
  assert.is((await app.request('DELETE', '/api/session')).status, 401)
})

door.run()

// ── Hostile input ───────────────────────────────────────────────────────────────────────────────────────────────────

const checkHeaders = ({ headers }: Answer) => {
  assert.is(headers['x-content-type-options'], 'nosniff')
  assert.is(headers['x-frame-options'], 'DENY')
  // Pages of shared chats send their address to no one.
  assert.match(String(headers['referrer-policy']), /^(same-origin|no-referrer)$/)
  assert.is(headers['x-injected'], undefined)
}

/** No server error, and nothing from outside the workspace and home. */
const check = (answer: Answer, what: string) => {
  const label = `${what} → ${answer.status} ${answer.text.slice(0, 300)}`
  // 503 is a refusal with a sentence; every other 5xx is a mistake of ours.
  assert.ok(answer.status < 500 || answer.status === 503, label)
  checkHeaders(answer)
  // A link that does not work is opened by a person: a page with a sentence.
  if (what.startsWith('GET /share/')) return
  if (answer.status >= 400) {
    assert.match(String(answer.headers['content-type']), 'application/json', label)
    const given: unknown = answer.body?.error
    // Endpoints for programs reject in the form of the API they implement.
    const error = given && typeof given === 'object' && 'message' in given ? given.message : given
    assert.ok(typeof error === 'string' && error.length > 3 && error.length < 1_000, label)
    assert.not.match(error, /\bat .*:\d+:\d+|node_modules|\/lib\//, label)
  }
  for (const leak of LEAKS) assert.not.ok(answer.text.includes(leak), label)
}

const hostile = suite<{ app: TestApp; known: Record<string, unknown> }>('contract: hostile input')

const startHostile = async (state: { app: TestApp; known: Record<string, unknown> }) => {
  // Before requests with a time limit wait for them.
  await loadAssets()
  // `full`: 503 and unexpected errors are looked at here, answer by answer.
  const app = await startApp({ allowErrors: true })
  state.app = app
  writeFileSync(join(app.home, 'secret.txt'), CANARY)
  const workspace = join(app.home, 'workspace')
  mkdirSync(workspace, { recursive: true })
  writeFileSync(join(workspace, 'inside.txt'), 'inside')
  symlinkSync('/etc', join(workspace, 'escape-link'))
  await app.post('/api/workspaces/add', { path: workspace })
  const made = await app.post('/api/session/new', { workspace })
  const { session } = made.body
  state.known = { session_id: session.session_id, workspace, path: '.', message: 'hello' }
}
hostile.before(startHostile)
hostile.after(({ app }) => app.close())

/** A password or a deleted session would hide everything behind it. */
const restoreAfter = async (state: { app: TestApp; known: Record<string, unknown> }) => {
  const status = await state.app.get('/api/auth/status')
  const lives = await state.app.get(`/api/session?session_id=${state.known.session_id}`)
  if (status.body.auth_enabled || lives.status !== 200) {
    await state.app.close()
    await startHostile(state)
  }
}

const inputKeys = ({ endpoint }: Route): string[] => {
  if (!endpoint.input) return []
  const schema = z.toJSONSchema(endpoint.input, { io: 'input', unrepresentable: 'any' })
  return Object.keys((schema as { properties?: object }).properties ?? {})
}

type Attempt = { what: string; path: string; options: RequestOptions }

const queryAttempts = (route: Route, known: Record<string, unknown>): Attempt[] => {
  const keys = inputKeys(route)
  const base = Object.fromEntries(
    keys.filter(key => key in known).map(key => [key, String(known[key])]),
  )
  const toPath = (query: Record<string, string>) =>
    `${concrete(route.path)}?${new URLSearchParams(query)}`
  const paths = [
    concrete(route.path),
    `${concrete(route.path)}?`,
    `${concrete(route.path)}?=&&==&%`,
    `${concrete(route.path)}?${keys.map(key => `${key}=%ff%fe&${key}=2&${key}[]=3`).join('&')}`,
    ...keys.flatMap((key, at) =>
      shareOf(hostileTexts, at).map(text => toPath({ ...base, [key]: text })),
    ),
    ...shareOf(hostileTexts, all.indexOf(route)).map(text =>
      toPath(Object.fromEntries(keys.map(key => [key, text]))),
    ),
  ]
  return paths.map(path => ({ what: `GET ${path.slice(0, 200)}`, path, options: {} }))
}

const bodyAttempts = (route: Route, known: Record<string, unknown>): Attempt[] => {
  const keys = inputKeys(route)
  const base = Object.fromEntries(keys.filter(key => key in known).map(key => [key, known[key]]))
  const bodies: unknown[] = [
    '',
    {},
    ...shareOf(hostileBodies, all.indexOf(route)),
    ...keys.flatMap((key, at) =>
      shareOf(hostileValues, at).map(value => ({ ...base, [key]: value })),
    ),
    ...shareOf(hostileValues, all.indexOf(route)).map(value =>
      Object.fromEntries(keys.map(key => [key, value])),
    ),
  ]
  return bodies.map(body => ({
    what: `${route.key} ${JSON.stringify(body)?.slice(0, 200)}`,
    path: route.path,
    options: { body },
  }))
}

/**
 * At full size each value meets each key alone and all keys of a route at once, and each body every route; else every
 * eighth does, other ones for each.
 */
const shareOf = <T>(values: readonly T[], key: number): readonly T[] =>
  process.env.PROOF === 'full' ? values : values.filter((_, at) => at % 8 === key % 8)

const AT_ONCE = 8

/** All of them, a few at a time, so that none blocks the others. */
const tryAll = async (app: TestApp, method: string, attempts: readonly Attempt[]) => {
  const waiting = [...attempts]
  const lane = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const options = { ...next.options, headOnly: true, timeoutMs: 10_000 }
      check(await app.request(method, next.path, options), next.what)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
}

for (const route of all) {
  hostile(`${route.key} rejects hostile input without a server error`, async state => {
    const attempts =
      route.method === 'GET' ? queryAttempts(route, state.known) : bodyAttempts(route, state.known)
    const headers = route.endpoint.byToken ? await tokenHeaders(state.app) : {}
    const known = attempts.map(each => ({ ...each, options: { ...each.options, headers } }))
    await tryAll(state.app, route.method, known)
    assert.is(Reflect.get({}, 'polluted'), undefined)
    await restoreAfter(state)
  })
}

hostile('a wrong method gets the allowed ones (405)', async ({ app }) => {
  const headers = await tokenHeaders(app)
  for (const { path } of exact) {
    const methods = exact.filter(each => each.path === path).map(({ method }) => method)
    const other = methods.includes('GET') ? 'POST' : 'GET'
    for (const method of methods.length === 2 ? wrongMethods : [...wrongMethods, other]) {
      const body = method === 'POST' ? { body: {} } : {}
      const answer = await app.request(method, path, { ...body, headers })
      check(answer, `${method} ${path}`)
      assert.is(answer.status, 405, `${method} ${path}`)
      for (const right of methods) assert.match(String(answer.headers.allow), right)
    }
  }
})

hostile('hostile paths lead to no file', async ({ app }) => {
  for (const path of hostilePaths) {
    for (const method of ['GET', 'HEAD', 'POST']) {
      const answer = await app.request(method, path, { headOnly: true })
      if (method === 'HEAD') assert.ok(answer.status < 500, path)
      else check(answer, `${method} ${path}`)
    }
    assert.ok((await app.get(path)).status >= 400 || !path.startsWith('/static'), path)
  }
})

hostile('rejects a body over the limit before reading it', async ({ app }) => {
  const token = await tokenHeaders(app)
  for (const { method, path } of exact) {
    if (method !== 'POST') continue
    const answer = await app.request('POST', path, {
      headers: {
        ...token,
        'Content-Length': String(20 * 1024 * 1024 + 1),
        Connection: 'close',
      },
      // Shorter than declared: waiting for the rest would hang.
      body: '{}',
    })
    assert.is(answer.status, 400, path)
    checkHeaders(answer)
  }
})

hostile('the service still works after all of it', async ({ app }) => {
  assert.is((await app.get('/health')).body.status, 'ok')
  const made = await app.post('/api/session/new')
  assert.is(made.status, 200)
  assert.equal(app.errors, [])
})

hostile.run()
