/**
 * Walks the route table once, so that a new line in it is tested before anybody writes a test: its form, who may call it,
 * what it refuses, its tag, and what it answers while config.yaml cannot be read. What a route does is tested in
 * `handlers/`.
 */
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { NAMING_FIELDS } from '../lib/app/named.ts'
import type { AnyEndpoint } from '../lib/http/endpoint.ts'
import { parseInput } from '../lib/http/parse-input.ts'
import { patternRoutes, routes } from '../router.ts'
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
import { PASSWORD, setPerson, signIn } from './_people.ts'
import { createProvider, type Scripted } from './_provider.ts'
import { createRandom, oddTexts, type Random, randomJson } from './_random.ts'

/** Each hostile value meets each field, and many random ones do. */
const FULL = process.env.PROOF === 'full'
const SEED = Number(process.env.SEED ?? 20_260)

type Route = {
  key: string
  method: string
  path: string
  /** The path as in the table, with its open segment. */
  pattern: string
  endpoint: AnyEndpoint
  /** Names of the fields of its input, also of each form that the input may have. */
  fields: string[]
  /** Its place in the table: other routes meet other values. */
  at: number
}

type Shape = { properties?: object; anyOf?: { properties?: object }[] }

const fieldNames = ({ input }: AnyEndpoint): string[] => {
  const schema = input && z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' })
  const { properties, anyOf = [] } = (schema ?? {}) as Shape
  const names = [properties, ...anyOf.map(each => each.properties)]
  return [...new Set(names.flatMap(each => Object.keys(each ?? {})))]
}

const all = Object.entries<AnyEndpoint>({ ...routes, ...patternRoutes }).map(
  ([key, endpoint], at): Route => {
    const [method = '', pattern = ''] = key.split(' ')
    const path = pattern.replace(/\/:\w+$/, '/appearance').replace(/\/\*$/, '/none.js')
    return { key, method, path, pattern, endpoint, fields: fieldNames(endpoint), at }
  },
)
const isPerson = ({ endpoint }: Route) => !endpoint.public && !endpoint.byToken

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

/** Where null says something that absence does not. */
const NULL_SAYS = [
  'POST /api/budgets day tokens',
  'POST /api/budgets day usd',
  'POST /api/budgets session tokens',
  'POST /api/budgets session usd',
  'POST /api/budgets steps',
  'POST /api/budgets turn tokens',
  'POST /api/budgets turn usd',
  'POST /api/memory/write expected_mtime',
  'POST /api/notifications kinds',
  'POST /api/notifications/kinds kinds',
  'POST /api/own-files/save fields tools',
  'POST /api/personality/set name',
  'POST /api/projects/create color',
  'POST /api/projects/rename color',
  'POST /api/providers api_key',
  'POST /api/session/move project_id',
  'POST /api/session/toolsets toolsets',
  'POST /api/skills/save category',
  'POST /api/tokens/create expires_in_days',
]

/** Fields that name nothing of a profile, or something inside what the other fields name. */
const HARMLESS = `
  after agent_session_id all amend answer approval_id archived attachments before call checkpoint choice clarify_id
  client_message_id comments commit commits content create current cursor days deliver depth dest_dir download enabled
  expected_version file files focus_topic force format hooks hunks id ids issuer job_id keep_count kind kinds limit lines message
  messages mode model muted n name new_name offset old_path only_here others page password paths permanent pinned point pos probe
  process_id prompt provider q question reason recursive refresh remote repeat replaces response rule schedule scheduled
  scope script since skills skip subject subscription text timezone title topic trash_id url voice
`

/** What a GET is asked with: a field of its input has the same meaning in each. `session_id` and `workspace` are added. */
const READ = { path: '.', provider: 'openai', name: 'x', q: 'hello', prefix: '' }

// ── Fields of an input ──────────────────────────────────────────────────────────────────────────────────────────────

type Field = { name: string; schema: z.core.$ZodType }

const inner = (schema: z.core.$ZodType): z.core.$ZodType | undefined => {
  const { def } = schema._zod as { def: { innerType?: z.core.$ZodType; in?: z.core.$ZodType } }
  return def.innerType ?? def.in
}

const unwrap = (schema: z.core.$ZodType): z.core.$ZodType => {
  const next = inner(schema)
  return next ? unwrap(next) : schema
}

const isNullable = (schema: z.core.$ZodType): boolean => {
  if (schema instanceof z.ZodNullable) return true
  const next = inner(schema)
  return next !== undefined && isNullable(next)
}

/** With those of objects inside objects, lists and unions. */
const fieldsOf = (schema: z.core.$ZodType, at: string): Field[] => {
  const bare = unwrap(schema)
  if (bare instanceof z.ZodArray) return fieldsOf(bare.element, at)
  if (bare instanceof z.ZodUnion) return bare.options.flatMap(option => fieldsOf(option, at))
  if (!(bare instanceof z.ZodObject)) return []
  return Object.entries(bare.shape as Record<string, z.core.$ZodType>).flatMap(([key, field]) => [
    { name: `${at} ${key}`, schema: field },
    ...fieldsOf(field, `${at} ${key}`),
  ])
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

// ── The table ───────────────────────────────────────────────────────────────────────────────────────────────────────

const table = suite('contract: the table')

table('the public routes are those of the contract', () => {
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

// ── The services ────────────────────────────────────────────────────────────────────────────────────────────────────

type Headers = { headers: { cookie: string } }

/** Without a password; with config.yaml as it should be, and as nobody could read it. */
type Reader = { app: TestApp; read: Record<string, string>; token: Record<string, string> }
/** With a password and people. `things` belong to a profile that the outsider was not given. */
type Locked = {
  app: TestApp
  as: Record<'owner' | 'member' | 'viewer' | 'outsider', Headers>
  things: Record<string, string>
}
/** Meets whatever a client may send. */
type Attacked = { app: TestApp; known: Record<string, unknown>; workspace: string }
type World = {
  provider: Scripted
  sound: Reader
  broken: Reader
  locked: Locked
  attacked: Attacked
}

const startReader = async (): Promise<Reader> => {
  const app = await startApp()
  const messages = [{ role: 'user', content: 'hello' }]
  const made = await app.post('/api/session/import', { title: 'Talk', messages })
  const { session_id, workspace } = made.body.session
  return { app, read: { ...READ, session_id, workspace }, token: await tokenHeaders(app) }
}

const startBroken = async (): Promise<Reader> => {
  const reader = await startReader()
  await reader.app.restart(() =>
    writeFileSync(join(reader.app.home, 'config.yaml'), 'model: {broken\n'),
  )
  return reader
}

const startLocked = async (): Promise<Locked> => {
  const app = await startApp({ env: { AGENT_WEBUI_PASSWORD: PASSWORD } })
  await setPerson(app, { name: 'Mia', role: 'member', profiles: ['team'] })
  await setPerson(app, { name: 'Vera', role: 'viewer', profiles: ['team'] })
  await setPerson(app, { name: 'Otto', role: 'member', profiles: ['other'] })
  const owner = await signIn(app)
  for (const name of ['team', 'other']) await app.post('/api/profile/create', { name }, owner)
  const session_id = await newSession(app, owner)
  const message = { session_id, message: 'hello' }
  const { stream_id } = (await app.post('/api/chat/start', message, owner)).body
  const as = {
    owner,
    member: await signIn(app, 'Mia'),
    viewer: await signIn(app, 'Vera'),
    outsider: await signIn(app, 'Otto'),
  }
  return { app, as, things: { session_id, stream_id, profile: 'team' } }
}

const newSession = async (app: TestApp, owner: Headers): Promise<string> =>
  (await app.post('/api/session/new', { profile: 'team' }, owner)).body.session.session_id

const startAttacked = async ({ url }: Scripted): Promise<Attacked> => {
  // 503 and unexpected errors are looked at here, answer by answer.
  const app = await startApp({ allowErrors: true })
  writeFileSync(join(app.home, 'secret.txt'), CANARY)
  // The built-in demo would take its time for each reply.
  const model = `model: {provider: custom, base_url: '${url}', default: test-model}\n`
  writeFileSync(join(app.home, 'config.yaml'), model)
  const workspace = join(app.userHome, 'workspace')
  mkdirSync(workspace)
  writeFileSync(join(workspace, 'inside.txt'), 'inside')
  symlinkSync('/etc', join(workspace, 'escape-link'))
  await app.post('/api/workspaces/add', { path: workspace })
  const { session } = (await app.post('/api/session/new', { workspace })).body
  const texts = { path: 'inside.txt', message: 'hello', name: 'thing', content: 'text' }
  return { app, workspace, known: { ...texts, session_id: session.session_id, workspace } }
}

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

/** Nobody gets in without a sign-in or a token. */
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

/** A member is refused what owners decide, a viewer what changes something; nobody else is refused by role. */
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

/** A session, a stream and a profile that a person was not given are not told from ones that do not exist. */
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

type Attempt = { what: string; path: string; body?: unknown }

/** At full size all of them, else as many as given, other ones for each number. */
const shareOf = <T>(values: readonly T[], at: number, count = 1): readonly T[] =>
  FULL
    ? values
    : Array.from({ length: count }, (_, index) => values[(at + index * 7) % values.length]!)

/** Random where a coin says so, otherwise something the endpoint could know: later checks are reached as well. */
const randomBody = (random: Random, fields: readonly string[], known: Record<string, unknown>) =>
  Object.fromEntries(
    fields.flatMap(name => {
      const share = name in known ? 0.3 : 0.7
      if (random.next() < share) return [[name, randomJson(random)]]
      return name in known ? [[name, known[name]]] : []
    }),
  )

const randomQuery = (random: Random, fields: readonly string[], known: Record<string, unknown>) =>
  Object.fromEntries(
    fields.flatMap(name => {
      const text = random.pick(oddTexts).slice(0, 3_000).toWellFormed()
      if (random.next() < 0.4) return [[name, text]]
      return name in known ? [[name, known[name]]] : []
    }),
  )

/** Inputs of which each is at most refused. */
const inputsOf = ({ key, method, fields, at }: Route, known: Record<string, unknown>) => {
  const groups = method === 'GET' ? hostileTexts : hostileValues
  const base = Object.fromEntries(Object.entries(known).filter(([name]) => fields.includes(name)))
  const random = createRandom(SEED + key.length * 7919 + key.charCodeAt(key.length - 1))
  const make = method === 'GET' ? randomQuery : randomBody
  return [
    {},
    ...fields.flatMap((name, index) =>
      groups
        // Neighboring fields meet values of other groups.
        .filter((_, group) => FULL || group % 2 === index % 2)
        .flatMap(values => shareOf<unknown>(values, at + index))
        .map(value => ({ ...base, [name]: value })),
    ),
    // All fields at once; a single field has not met the other groups.
    ...(fields.length > 1 && !FULL ? [groups[at % groups.length]!] : groups)
      .flatMap(values => shareOf<unknown>(values, at))
      .map(value => Object.fromEntries(fields.map(name => [name, value]))),
    ...Array.from({ length: fields.length === 0 ? 0 : FULL ? 200 : 2 }, () =>
      make(random, fields, known),
    ),
  ]
}

const attemptsOf = (route: Route, known: Record<string, unknown>): Attempt[] => {
  const { key, method, path, fields, at } = route
  const inputs = inputsOf(route, known)
  if (method === 'GET') {
    const twice = fields.map(name => `${name}=%ff%fe&${name}=2&${name}[]=3`).join('&')
    const queries = inputs.map(each => String(new URLSearchParams(each as Record<string, string>)))
    return ['?=&&==&%', twice, ...queries].map(query => ({
      what: `${key}?${query.slice(0, 300)}`,
      path: `${path}?${query}`,
    }))
  }
  // Text as a body is sent as it is.
  const bodies = ['', 'null', ...shareOf(hostileBodies, at, 2), ...inputs]
  return bodies.map(body => ({
    what: `${key} ${JSON.stringify(body).slice(0, 300)}`,
    path,
    body: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
  }))
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
