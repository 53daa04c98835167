/**
 * Walks the route table once, so that a new line in it is tested before a test is written for it: its form, who may call
 * it, what it refuses, its tag, and what it answers while config.yaml cannot be read. What a route does is tested in
 * `handlers/`.
 */
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { NAMING_FIELDS } from '../lib/app/named.ts'
import { parseInput } from '../lib/http/parse-input.ts'
import { type TestApp, tokenHeaders } from './_app.ts'
import { loadAssets } from './_assets.ts'
import {
  all,
  fieldsOf,
  HARMLESS,
  isNullable,
  isPerson,
  NULL_SAYS,
  PUBLIC,
  type Route,
} from './_contract.ts'
import { attemptsOf, SEED } from './_contract-attempts.ts'
import {
  type Locked,
  newSession,
  type Reader,
  startAttacked,
  startBroken,
  startLocked,
  startReader,
  type World,
} from './_contract-services.ts'
import { hostilePaths, LEAKS, wrongMethods } from './_hostile.ts'
import type { Answer, RequestOptions } from './_http.ts'
import { signIn } from './_people.ts'
import { createProvider } from './_provider.ts'

// ── The table ───────────────────────────────────────────────────────────────────────────────────────────────────────

const table = suite('contract: the table')

table('the public routes are those of the list', () => {
  const found = all.filter(({ endpoint }) => endpoint.public).map(({ key }) => key)
  assert.equal(found.toSorted(), PUBLIC.toSorted())
})

table('every path is named in another test', () => {
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
    all.filter(({ pattern }) => !names(pattern)).map(({ key }) => key),
    [],
  )
})

table('only the fields where null has a meaning accept it', () => {
  const named = all.flatMap(({ key, endpoint: { input } }) =>
    (input ? fieldsOf(input, key) : [])
      .filter(({ schema }) => isNullable(schema))
      .map(({ name }) => name),
  )
  assert.equal([...new Set(named)].toSorted(), NULL_SAYS)
})

table(
  'every field that others than owners may send is checked, or names nothing of a profile',
  () => {
    // `watch` and `sessions` are filtered; the others are checked by their endpoints.
    const known = new Set([
      ...NAMING_FIELDS,
      ...['watch', 'sessions', 'project_id', 'path', 'base_url'],
      ...HARMLESS.split(/\s+/),
    ])
    const unknown = all
      .filter(route => isPerson(route) && route.endpoint.access !== 'own')
      .flatMap(({ key, fields }) =>
        fields.filter(field => !known.has(field)).map(f => `${f} (${key})`),
      )
    assert.equal(unknown, [])
  },
)

table.run()

// ── One property each ───────────────────────────────────────────────────────────────────────────────────────────────

/** What a failure shows. */
const seen = ({ status, text }: Answer) => `${status} ${text.slice(0, 300)}`

const checkHeaders = ({ headers }: Answer, what: string) => {
  assert.is(headers['x-content-type-options'], 'nosniff', what)
  assert.is(headers['x-frame-options'], 'DENY', what)
  // Pages of shared chats send their address to no one.
  assert.match(String(headers['referrer-policy']), /^(same-origin|no-referrer)$/, what)
  assert.is(headers['x-injected'], undefined, what)
}

/** No server error, and nothing from outside the workspace and home. */
const checkRefusal = (answer: Answer, what: string) => {
  const label = `${what} → ${seen(answer)}`
  // 503 is a refusal with a sentence; every other 5xx is a mistake of ours.
  assert.ok(answer.status < 500 || answer.status === 503, label)
  checkHeaders(answer, label)
  // A link that does not work is opened by a person: a page with a sentence.
  if (what.includes('GET /share/')) return
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

const checkForm = ({ key, endpoint }: Route) => {
  const { summary, output, raw } = endpoint
  assert.match(summary, /^[A-Z].{4,140}[^.\s]$/s, `${key}: one sentence without a period`)
  assert.is.not(output === undefined, raw === undefined, `${key}: a schema, or else a media type`)
}

const send = (
  app: TestApp,
  { method, path, fields, endpoint }: Route,
  named: Record<string, unknown>,
  options: RequestOptions = {},
) => {
  const given = Object.entries(named).filter(([name]) => fields.includes(name))
  const sent = Object.fromEntries(given)
  if (method === 'GET') {
    const query = new URLSearchParams(given.map(([name, value]) => [name, String(value)]))
    return app.request(method, `${path}?${query}`, { headOnly: true, ...options })
  }
  const body = endpoint.multipart ? {} : { body: sent }
  return app.request(method, path, { headOnly: true, ...body, ...options })
}

/** Without a sign-in or a token the reply is a refusal. */
const checkDoor = async (route: Route, { app, as }: Locked) => {
  const { key, endpoint } = route
  if (endpoint.public) return
  if (!endpoint.byToken) {
    const answer = await send(app, route, {})
    if (endpoint.page)
      assert.equal([answer.status, answer.headers.location], [302, '/login'], `${key}: signed out`)
    else {
      const found = [answer.status, answer.body?.code]
      assert.equal(found, [401, 'sign_in_required'], `${key} signed out: ${seen(answer)}`)
    }
    return checkHeaders(answer, `${key}: signed out`)
  }
  const off = await send(app, route, {})
  assert.is(off.status, 404, `${key} while the API is off: ${seen(off)}`)
  await app.post('/api/tokens/enable', { enabled: true }, as.owner)
  const answer = await send(app, route, {}, as.owner)
  await app.post('/api/tokens/enable', { enabled: false }, as.owner)
  assert.is(answer.status, 401, `${key} with a cookie instead of a token: ${seen(answer)}`)
  checkHeaders(answer, key)
}

/** Signs out who calls them. */
const SIGNS_OUT = 'POST /api/auth/logout'
/** Turning it on is its default, and needs an owner. */
const TURNS_ON = 'POST /api/session/yolo'

/** A member is refused what owners decide, a viewer what changes something; no other person is refused by role. */
const checkRoles = async (route: Route, { app, as, things }: Locked) => {
  const { key, method, endpoint } = route
  if (!isPerson(route)) return
  const { access } = endpoint
  assert.ok(access, `${key}: says what it asks of the person`)
  const isGiven = { owner: true, member: access !== 'own', viewer: access === 'read' }
  for (const name of ['viewer', 'member', 'owner'] as const) {
    // With nothing in it but what it names, most that are admitted end with a 400.
    const isNamed = access !== 'own' && isGiven[name]
    const named = isNamed
      ? {
          profile: 'team',
          // What changes it may delete it.
          session_id: method === 'GET' ? things.session_id : await newSession(app, as.owner),
        }
      : {}
    const answer = await send(app, route, named, as[name])
    const what = `${key} as ${name}: ${seen(answer)}`
    const isRefused = answer.status === 403 && answer.body?.code === 'role_not_allowed'
    if (key !== TURNS_ON || !isGiven[name]) assert.is(isRefused, !isGiven[name], what)
    if (!isGiven[name]) continue
    // These two are about sessions of the command line, and in the trash.
    if (!/import_cli|restore/.test(key)) assert.is.not(answer.body?.code, 'session_not_found', what)
    if (key === SIGNS_OUT) Object.assign(as, { [name]: await signIn(app, NAMES[name]) })
    else assert.is.not(answer.status, 401, what)
  }
}
const NAMES = { viewer: 'Vera', member: 'Mia', owner: '' }

/** A session, a stream and a profile that a person was not given get the same reply as ones that do not exist. */
const checkForeign = async (route: Route, { app, as, things }: Locked) => {
  const { key, endpoint, fields } = route
  if (!isPerson(route) || endpoint.access === 'own' || endpoint.multipart) return
  for (const name of ['session_id', 'stream_id', 'profile'].filter(each => fields.includes(each))) {
    const real = await send(app, route, { [name]: things[name] }, as.outsider)
    const none = await send(app, route, { [name]: 'nothing' }, as.outsider)
    // What the input lacks is said first, whatever it names.
    if (real.status === 400 && none.status === 400) continue
    const what = `${key} ${name} of somebody else: ${seen(real)}`
    assert.is(real.status, 404, what)
    assert.equal([real.status, real.body?.code], [none.status, none.body?.code], what)
  }
}

/** A GET replies as declared, the same while config.yaml is unreadable, and 304 exactly to its tag. */
const checkReads = async (route: Route, { sound, broken }: World) => {
  const { key, method, endpoint } = route
  if (method !== 'GET') return
  const tokenOf = ({ token }: Reader) => (endpoint.byToken ? token : {})
  const ask = (tag?: string) => {
    const condition: Record<string, string> = tag === undefined ? {} : { 'If-None-Match': tag }
    return send(sound.app, route, sound.read, { headers: { ...tokenOf(sound), ...condition } })
  }
  // The service compares JSON with the schema of the output, and logs a mismatch, which fails its close.
  const answer = await ask()
  assert.ok(answer.status < 500, `${key}: ${seen(answer)}`)
  if (answer.status === 200 && endpoint.output)
    assert.match(String(answer.headers['content-type']), /^application\/json/, key)
  const without = await send(broken.app, route, broken.read, { headers: tokenOf(broken) })
  assert.is(
    without.status,
    answer.status,
    `${key} with an unreadable config.yaml: ${seen(without)}`,
  )
  const { etag } = answer.headers
  if (answer.status !== 200 || etag === undefined) return
  assert.match(etag, /^"[\x21\x23-\x7e]*"$/, `${key}: a strong tag`)
  for (const tag of [etag, `"other", W/${etag}`]) {
    const again = await ask(tag)
    assert.equal([again.status, again.bytes.length], [304, 0], `${key} If-None-Match ${tag}`)
  }
  const other = await ask(etag.slice(1, -1))
  assert.is(other.status, 200, `${key} If-None-Match without quotes`)
  // Pages have a new nonce in each reply.
  const isSame = endpoint.page === true || other.bytes.equals(answer.bytes)
  assert.ok(isSame || other.headers.etag !== etag, `${key}: the same tag for other bytes`)
}

const methodsOf = (pattern: string): string[] =>
  all.filter(each => each.pattern === pattern).map(({ method }) => method)

/** 405 with the methods that it has. */
const checkMethods = async ({ key, path, pattern, at }: Route, { app, token }: Reader) => {
  // Whatever has no route of its own may be a page.
  if (pattern !== path) return
  const methods = methodsOf(pattern)
  const others = ['GET', 'POST'].filter(each => !methods.includes(each))
  for (const method of [wrongMethods[at % wrongMethods.length]!, ...others]) {
    const body = method === 'POST' ? { body: {} } : {}
    const answer = await app.request(method, path, { ...body, headers: token })
    checkRefusal(answer, `${key} as ${method}`)
    assert.is(answer.status, 405, `${key} as ${method}: ${seen(answer)}`)
    for (const right of methods) assert.match(String(answer.headers.allow), right, key)
  }
}

/** A body over the limit is refused before it is read. */
const checkOversize = async ({ key, method, path }: Route, { app, token }: Reader) => {
  if (method !== 'POST') return
  const length = { 'Content-Length': String(20 * 1024 * 1024 + 1), Connection: 'close' }
  // Shorter than declared: waiting for the rest would hang.
  const options = { headers: { ...token, ...length }, body: '{}' }
  const answer = await app.request('POST', path, options)
  assert.is(answer.status, 400, `${key} over 20 MiB: ${seen(answer)}`)
  checkHeaders(answer, key)
}

const outcome = (schema: z.ZodType, value: Record<string, unknown>): unknown => {
  try {
    return { ok: parseInput(schema, value) }
  } catch (error) {
    return { refused: String(error) }
  }
}

/** Every field where null says nothing treats it as absent. */
const checkNulls = ({ key, endpoint }: Route) => {
  if (!endpoint.input) return
  for (const { name, schema } of fieldsOf(endpoint.input, key)) {
    if (NULL_SAYS.includes(name)) continue
    const field = name.split(' ').at(-1)!
    const alone = z.object({ [field]: schema as z.ZodType })
    const nested = z.object({ list: z.array(alone), maybe: alone.optional() })
    assert.equal(outcome(alone, { [field]: null }), outcome(alone, {}), `${name}: null`)
    assert.equal(
      outcome(nested, { list: [{ [field]: null }], maybe: { [field]: null } }),
      outcome(nested, { list: [{}], maybe: {} }),
      `${name}: null in an object and a list`,
    )
  }
}

/** A few at a time, so that none blocks the others. */
const AT_ONCE = 8

const checkHostile = async (route: Route, world: World) => {
  const { app, known } = world.attacked
  const headers = route.endpoint.byToken ? await tokenHeaders(app) : {}
  const waiting = attemptsOf(route, known)
  const before = app.errors.length
  const lane = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { what, path, body } = next
      const options = { body, headers, headOnly: true }
      const answer = await app.request(route.method, path, options)
      checkRefusal(answer, `seed ${SEED}: ${what}\n${app.errors.slice(before).join('\n')}`)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, lane))
  assert.equal(app.errors.slice(before), [], `${route.key}: logs no error`)
  assert.is(Reflect.get({}, 'polluted'), undefined, `${route.key}: changes a prototype`)
  const written = [
    ...readdirSync(app.userHome).filter(name => !['.agent', 'workspace'].includes(name)),
    ...['/tmp/outside.txt', join(app.userHome, '..', 'outside.txt')].filter(existsSync),
  ]
  assert.equal(written, [], `${route.key}: writes outside of the workspace`)
  // A password or a deleted session would hide everything behind it.
  if (route.method === 'GET') return
  const { status } = await app.get(`/api/session?session_id=${known.session_id}&messages=0`)
  if (status === 200) return
  await app.close()
  world.attacked = await startAttacked(world.provider)
}

const contract = suite<World>('contract')
contract.before(async world => {
  // Before requests with a time limit wait for them.
  await loadAssets()
  world.provider = await createProvider()
  world.provider.otherwise = () => ({ text: 'ok' })
  world.sound = await startReader()
  world.broken = await startBroken()
  world.locked = await startLocked()
  world.attacked = await startAttacked(world.provider)
})
contract.after(async ({ provider, sound, broken, locked, attacked }) => {
  for (const { app } of [sound, broken, locked, attacked]) await app.close()
  await provider.close()
})

for (const route of all) {
  contract(route.key, async world => {
    const { sound, locked } = world
    checkForm(route)
    checkNulls(route)
    await checkDoor(route, locked)
    await checkRoles(route, locked)
    await checkForeign(route, locked)
    await checkReads(route, world)
    await checkMethods(route, sound)
    await checkOversize(route, sound)
    await checkHostile(route, world)
  })
}

contract('the OpenAPI document describes every route', async ({ sound }) => {
  type Operation = { summary: string; responses: Record<string, unknown>; operationId: string }
  const answer = await sound.app.get('/api/openapi.json')
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
  for (const { method, pattern, endpoint } of all) {
    const name = pattern.replace(/\/:(\w+)$/, '/{$1}').replace(/\/\*$/, '/{path}')
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

contract(
  'the page gets the routes that the person is refused, so that it does not offer them',
  async ({ locked: { app, as } }) => {
    const refusedOf = (accesses: string[]) =>
      all
        .filter(route => isPerson(route) && accesses.includes(route.endpoint.access ?? 'own'))
        .map(({ key }) => key)
    const asked = [
      [as.owner, []],
      [as.member, refusedOf(['own'])],
      [as.viewer, refusedOf(['own', 'work'])],
    ] as const
    for (const [who, refused] of asked) {
      assert.equal((await app.get('/api/settings', who)).body.person.refused, refused)
      const page = await app.get('/', who)
      assert.is(/ data-refused="([^"]*)"/.exec(page.text)?.[1], refused.join(','))
    }
  },
)

contract('unknown paths require a session as well', async ({ locked: { app } }) => {
  for (const [method, path, status] of [
    ['GET', '/api/nothing', 401],
    ['POST', '/api/nothing', 401],
    ['GET', '/nothing', 302],
    ['DELETE', '/api/session', 401],
  ] as const)
    assert.is((await app.request(method, path)).status, status, `${method} ${path}`)
})

contract('hostile paths lead to no file', async ({ attacked: { app } }) => {
  for (const path of hostilePaths) {
    for (const method of ['GET', 'HEAD', 'POST']) {
      const answer = await app.request(method, path, { headOnly: true })
      if (method === 'HEAD') assert.ok(answer.status < 500, `${path}: ${answer.status}`)
      else checkRefusal(answer, `${method} ${path}`)
      if (method === 'GET')
        assert.ok(answer.status >= 400 || !path.startsWith('/static'), `${path}: ${seen(answer)}`)
    }
  }
})

contract('the attacked service still works', async ({ attacked: { app } }) => {
  assert.is((await app.get('/health')).body.status, 'ok')
  assert.is((await app.post('/api/session/new')).status, 200)
  assert.equal(app.errors, [])
})

contract.run()
