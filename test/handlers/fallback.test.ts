/** A turn whose model cannot answer: other keys of its pool, then the fallbacks of the home, then the sentence why. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { startApp, type TestApp } from '../_app.ts'
import { createProvider, type Scripted, type Step } from '../_provider.ts'
import { until } from '../_wait.ts'

const MOST = 3

type Context = { app: TestApp; servers: Scripted[] }
const test = suite<Context>('fallback', { app: null as never, servers: [] })

test.before(async context => {
  context.app = await startApp()
  for (let n = 0; n < MOST; n++) context.servers.push(await createProvider())
})
test.after(async ({ app, servers }) => {
  await app.close()
  for (const server of servers) await server.close()
})
test.before.each(({ app, servers }) => {
  for (const server of servers) {
    server.clear()
    server.requests.splice(0)
  }
  writeFileSync(join(app.home, 'auth.json'), '{}')
  writeFileSync(join(app.home, '.env'), '')
})

const refuse = (status: number, message: string, headers: Record<string, string> = {}): Step => ({
  status,
  headers,
  body: { error: { message } },
})
/** So long that it is not waited for. */
const LIMITED = refuse(429, 'Rate limit reached', { 'retry-after': '30' })
const UNPAID = refuse(402, 'Payment required')
const DENIED = refuse(401, 'Invalid API key')

/** The servers as custom providers `one`, `two`, `three`; the first is the home's own. */
const NAMES = ['one', 'two', 'three'] as const
const configure = ({ app, servers }: Context, more: Record<string, unknown> = {}): void =>
  writeFileSync(
    join(app.home, 'config.yaml'),
    JSON.stringify({
      model: { provider: 'custom:one', default: 'model-one' },
      custom_providers: NAMES.map((name, at) => ({ name, base_url: servers[at]?.url })),
      ...more,
    }),
  )
const pool = ({ app }: Context, ...keys: (string | Record<string, unknown>)[]): void => {
  const list = keys.map((key, at) =>
    typeof key === 'string' ? { id: `id-${at}`, access_token: key, priority: at } : key,
  )
  writeFileSync(
    join(app.home, 'auth.json'),
    JSON.stringify({ version: 1, mine: 1.5, credential_pool: { 'custom:one': list } }),
  )
}
const fallbacks = (...names: string[]) => ({
  fallback_providers: names.map(name => ({ provider: `custom:${name}`, model: `model-${name}` })),
})

type Event = { event: string; data: Record<string, unknown> }
const turn = async ({ app }: Context, session?: string) => {
  const id: string = session ?? (await app.post('/api/session/new', {})).body.session.session_id
  const { body } = await app.post('/api/chat/start', { session_id: id, message: 'hello' })
  const events: Event[] = []
  for await (const event of app.events(`/api/chat/stream?stream_id=${body.stream_id}`)) {
    events.push(event as Event)
    if (event.event === 'stream_end') break
  }
  const { messages } = (await app.get(`/api/session?session_id=${id}`)).body.session
  return {
    id,
    events,
    messages,
    warnings: events.filter(({ event }) => event === 'warning').map(({ data }) => data),
    error: events.find(({ event }) => event === 'apperror')?.data,
    retries: events.filter(({ event }) => event === 'retry').length,
  }
}
const keysAt = (server: Scripted | undefined) =>
  server?.requests
    .filter(({ body }) => body.stream)
    .map(({ headers }) => String(headers.authorization ?? '').replace('Bearer ', ''))
/** Turns and the titles behind them; a title is asked for without tools. */
const calls = (server: Scripted | undefined) =>
  server?.requests.filter(({ body }) => body.tools?.length).length
/** Notes are written behind the turn. */
const noted = async ({ app }: Context, at: number, status: string) => {
  const entryOf = () =>
    JSON.parse(readFileSync(join(app.home, 'auth.json'), 'utf8')).credential_pool['custom:one'][at]
  await until(() => entryOf().last_status === status, status)
  return entryOf()
}

for (const [name, step, reason] of [
  ['429', LIMITED, 'rate_limit'],
  ['402', UNPAID, 'billing'],
  ['401', DENIED, 'auth'],
] as const)
  test(`${name}: uses the next key of the pool; the rejected one rests`, async context => {
    const [one] = context.servers
    configure(context)
    pool(context, `first-${name}`, `second-${name}`)
    one?.push(step, { text: 'Here.' }, { text: 'A title' })
    const { messages, warnings, error, retries } = await turn(context)
    assert.is(error, undefined)
    assert.is(retries, 0)
    assert.is(messages.at(-1).content, 'Here.')
    assert.equal(keysAt(one)?.slice(0, 2), [`first-${name}`, `second-${name}`])
    assert.is(warnings.length, 1)
    assert.is(warnings[0]?.type, 'rotated')
    assert.match(String(warnings[0]?.message), 'continuing with another one')
    assert.is((await noted(context, 0, 'exhausted')).last_error_reason, reason)
    assert.is((await noted(context, 1, 'ok')).request_count, 1)
    assert.is(JSON.parse(readFileSync(join(context.app.home, 'auth.json'), 'utf8')).mine, 1.5)
    // The next turn begins with the key that is good.
    one?.requests.splice(0)
    one?.clear()
    one?.push({ text: 'Again.' })
    await turn(context)
    assert.is(keysAt(one)?.[0], `second-${name}`)
  })

test('when all keys are rejected, the next fallback gets only the key of its own host', async context => {
  const [one, two, three] = context.servers
  configure(context, {
    fallback_providers: [
      { provider: 'custom:two', model: 'model-two', api_key_env: 'KEY_OF_TWO' },
      { provider: 'custom:three', model: 'model-three' },
    ],
  })
  writeFileSync(join(context.app.home, '.env'), 'KEY_OF_TWO=key-of-two\n')
  pool(context, 'key-first', 'key-second')
  one?.push(UNPAID, LIMITED)
  two?.push({ text: 'From two.' })
  const { messages, warnings } = await turn(context)
  assert.equal(
    warnings.map(({ type, message }) => [type, message]),
    [
      ['rotated', 'A key of Custom:One has no credit left; continuing with another one.'],
      ['fallback', 'custom:one/model-one is rate limited; continuing with custom:two/model-two.'],
    ],
  )
  const last = messages.at(-1)
  assert.equal([last.content, last.model, last.provider], ['From two.', 'model-two', 'custom:two'])
  assert.is(two?.requests[0]?.headers.authorization, 'Bearer key-of-two')
  assert.is(two?.requests[0]?.body.model, 'model-two')
  assert.is(three?.requests.length, 0)
  const elsewhere = JSON.stringify([two?.requests, three?.requests].flat().map(r => r?.headers))
  assert.not.match(elsewhere, /key-first|key-second/)
})

test('a fallback lasts for all steps of the turn, and no longer', async context => {
  const [one, two] = context.servers
  configure(context, fallbacks('two'))
  one?.push(DENIED)
  const toolCalls = [{ name: 'todo', arguments: {} }]
  two?.push({ toolCalls }, { text: 'Done by two.' })
  const { id, warnings, messages } = await turn(context)
  assert.is(warnings.length, 1)
  assert.is(messages.at(-1).content, 'Done by two.')
  assert.is(calls(one), 1)
  assert.is(calls(two), 2)
  one?.clear()
  one?.push({ text: 'Back again.' })
  const next = await turn(context, id)
  assert.equal(next.warnings, [])
  assert.is(next.messages.at(-1).provider, 'custom:one')
  const { model } = (await context.app.get(`/api/session?session_id=${id}`)).body.session
  assert.is(model, 'model-one')
})

test('when all endpoints fail, each is tried once and the first failure is reported', async context => {
  const [one, two, three] = context.servers
  configure(context, fallbacks('two', 'three'))
  pool(context, 'key-fifth', 'key-sixth')
  one?.push(UNPAID, LIMITED)
  two?.push(refuse(404, 'no such model'))
  three?.push(DENIED)
  const { error, warnings, messages } = await turn(context)
  assert.is(error?.type, 'quota_exhausted')
  assert.equal(
    warnings.map(({ type }) => type),
    ['rotated', 'fallback', 'fallback'],
  )
  assert.is(messages.at(-1)._error, true)
  assert.equal(
    [one, two, three].map(server => server?.requests.length),
    [2, 1, 1],
  )
})

test('a fallback after streamed text restarts the answer', async context => {
  const [one, two] = context.servers
  configure(context, { ...fallbacks('two'), agent: { api_max_retries: 1 } })
  one?.push({ text: 'I begin', finish: null, done: false, end: 'cut' })
  two?.push({ text: 'All of it.' }, { text: 'A title' })
  const { error, warnings, messages, events } = await turn(context)
  assert.is(error, undefined)
  assert.is(warnings[0]?.type, 'fallback')
  assert.is(messages.length, 2)
  assert.is(messages[1].content, 'All of it.')
  const [spoken, void_] = ['token', 'retry'].map(type => events.findIndex(e => e.event === type))
  assert.ok((spoken ?? -1) >= 0 && (void_ ?? -1) > (spoken ?? 0))
})

test.run()
