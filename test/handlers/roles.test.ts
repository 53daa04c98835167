/** What people of each role may do: every route of the table, with what they were given and with what they were not. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { z } from 'zod'
import { NAMING_FIELDS } from '../../lib/app/named.ts'
import type { AnyEndpoint } from '../../lib/http/endpoint.ts'
import { patternRoutes, routes } from '../../router.ts'
import { startApp, type TestApp } from '../_app.ts'
import { PASSWORD, setPerson, signIn } from '../_people.ts'

type Headers = { headers: { cookie: string } }
type Context = { app: TestApp; as: Record<'owner' | 'member' | 'viewer' | 'outsider', Headers> }

const table = Object.entries({ ...routes, ...patternRoutes } as Record<string, AnyEndpoint>)
  .filter(([, { public: isPublic, byToken }]) => !isPublic && !byToken)
  .map(([key, endpoint]) => {
    const [method = '', path = ''] = key.split(' ')
    return { key, method, path: path.replace(/:\w+$/, 'one'), endpoint }
  })

type Shape = { properties?: object; anyOf?: { properties?: object }[] }

const keysOf = ({ input }: AnyEndpoint): string[] => {
  const schema = input && z.toJSONSchema(input, { io: 'input', unrepresentable: 'any' })
  const { properties, anyOf = [] } = (schema ?? {}) as Shape
  return [properties, ...anyOf.map(each => each.properties)].flatMap(each =>
    Object.keys(each ?? {}),
  )
}

const test = suite<Context>('roles')
test.before(async context => {
  const app = await startApp({ env: { AGENT_WEBUI_PASSWORD: PASSWORD }, allowErrors: true })
  await setPerson(app, { name: 'Mia', role: 'member', profiles: ['team'] })
  await setPerson(app, { name: 'Vera', role: 'viewer', profiles: ['team'] })
  await setPerson(app, { name: 'Otto', role: 'member', profiles: ['other'] })
  const owner = await signIn(app)
  for (const name of ['team', 'other']) await app.post('/api/profile/create', { name }, owner)
  context.app = app
  context.as = {
    owner,
    member: await signIn(app, 'Mia'),
    viewer: await signIn(app, 'Vera'),
    outsider: await signIn(app, 'Otto'),
  }
})
test.after(({ app }) => app.close())

test('who was given no profile gets a refusal that says so, also of the event stream', async ({
  app,
}) => {
  await setPerson(app, { name: 'Nina', role: 'member' })
  const nina = await signIn(app, 'Nina')
  for (const path of ['/api/events', '/api/events?watch=abc']) {
    const { status, body } = await app.get(path, nina)
    assert.equal([status, body.code], [403, 'no_profile'], path)
  }
})

const newSession = async ({ app, as }: Context): Promise<string> =>
  (await app.post('/api/session/new', { profile: 'team' }, as.owner)).body.session.session_id

type Route = (typeof table)[number]

/** A request with nothing in it but what it names, so that most that are admitted end with a 400. */
const ask = (
  { app }: Context,
  { method, path, endpoint }: Route,
  who: Headers,
  named: Record<string, string>,
) => {
  const keys = keysOf(endpoint)
  const given = Object.fromEntries(Object.entries(named).filter(([key]) => keys.includes(key)))
  const query = method === 'GET' ? `?${new URLSearchParams(given)}` : ''
  const body = method === 'GET' ? {} : { body: given }
  return app.request(method, `${path}${query}`, { ...who, ...body, headOnly: true })
}

const isRefusedByRole = ({ status, body }: { status: number; body: { code?: string } }) =>
  status === 403 && body?.code === 'role_not_allowed'

test('every route says what it asks of the person', () => {
  assert.equal(
    table.filter(({ endpoint }) => endpoint.access === undefined).map(({ key }) => key),
    [],
  )
})

test('a member gets a 403 from every route of owners, and a viewer from those that change something', async context => {
  const { as } = context
  for (const route of table) {
    const { access } = route.endpoint
    if (access === 'own')
      assert.ok(isRefusedByRole(await ask(context, route, as.member, {})), route.key)
    if (access !== 'read')
      assert.ok(isRefusedByRole(await ask(context, route, as.viewer, {})), route.key)
  }
})

test('the page gets the routes that the person is refused, so that it does not offer them', async ({
  app,
  as,
}) => {
  const refusedOf = (accesses: string[]) =>
    Object.entries({ ...routes, ...patternRoutes } as Record<string, AnyEndpoint>)
      .filter(([, { public: isPublic, byToken }]) => !isPublic && !byToken)
      .filter(([, { access = 'own' }]) => accesses.includes(access))
      .map(([key]) => key)
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
})

test('a session, a stream and a profile that were not given do not exist', async context => {
  const { app, as } = context
  const session_id = await newSession(context)
  const message = { session_id, message: 'hello' }
  const { stream_id } = (await app.post('/api/chat/start', message, as.owner)).body
  const things = { session_id, stream_id, profile: 'team' }
  for (const route of table.filter(({ endpoint }) => endpoint.access !== 'own')) {
    if (route.endpoint.multipart) continue
    const keys = keysOf(route.endpoint)
    for (const [key, value] of Object.entries(things)) {
      if (!keys.includes(key)) continue
      const unknown = { session_id: 'nothing', stream_id: 'nothing', profile: 'nothing' }
      const [real, none] = await Promise.all([
        ask(context, route, as.outsider, { [key]: value }),
        ask(context, route, as.outsider, { [key]: unknown[key as keyof typeof unknown] }),
      ])
      // What the input lacks is said first, whatever it names.
      if (real.status === 400 && none.status === 400) continue
      assert.is(real.status, 404, `${route.key} ${key}: ${real.text.slice(0, 200)}`)
      assert.equal(
        [real.status, real.body?.code],
        [none.status, none.body?.code],
        `${route.key} ${key}`,
      )
    }
  }
})

test('a member reaches every other route in the profile given, and a viewer those that read', async context => {
  const { as } = context
  for (const route of table.filter(({ endpoint }) => endpoint.access !== 'own')) {
    const named = async () => ({ session_id: await newSession(context), profile: 'team' })
    const isRead = route.endpoint.access === 'read'
    for (const who of isRead ? [as.viewer, as.member] : [as.member]) {
      const answer = await ask(context, route, who, await named())
      const isSignIn = route.key === 'POST /api/auth/logout'
      // Turning it on is its default.
      if (route.key !== 'POST /api/session/yolo') assert.not.ok(isRefusedByRole(answer), route.key)
      // These two are about sessions of the command line, and in the trash.
      if (!/import_cli|restore/.test(route.key))
        assert.is.not(answer.body?.code, 'session_not_found', route.key)
      assert.ok(isSignIn || answer.status !== 401, route.key)
    }
    if (route.key === 'POST /api/auth/logout')
      Object.assign(as, {
        viewer: await signIn(context.app, 'Vera'),
        member: await signIn(context.app, 'Mia'),
      })
  }
})

/** Names of nothing that belongs to a profile, or of something inside what the other fields name. */
const HARMLESS = `
  after agent_session_id all amend answer approval_id archived attachments before call checkpoint choice clarify_id
  client_message_id comments commit commits content create current cursor days deliver depth dest_dir download enabled
  expected_version file files focus_topic force format hooks hunks id ids issuer job_id keep_count kind kinds limit lines message
  messages mode model muted n name new_name offset old_path only_here others page password paths permanent pinned point pos probe
  process_id prompt provider q question reason recursive refresh remote repeat replaces response rule schedule scheduled
  scope script since skills skip subject subscription text timezone title topic trash_id url voice
`

test('every field of an input that others than owners may send is checked, or names nothing of a profile', () => {
  // `watch` and `sessions` are filtered; the others are checked by their endpoints.
  const known = new Set([
    ...NAMING_FIELDS,
    ...['watch', 'sessions', 'project_id', 'path', 'base_url'],
    ...HARMLESS.split(/\s+/),
  ])
  const fields = table
    .filter(({ endpoint }) => endpoint.access !== 'own')
    .flatMap(({ key, endpoint }) => keysOf(endpoint).map(field => `${field} (${key})`))
  assert.equal(
    fields.filter(field => !known.has(field.split(' ')[0] ?? '')),
    [],
  )
})

test.run()
