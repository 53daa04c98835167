/** Search services over real HTTP: which is chosen, what each is asked, and what it says when it does not answer. */
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { chooseSearch, searchWeb } from '../../../lib/web/search.ts'
import { configOf } from '../../_config.ts'

type Asked = { method: string; url: string; headers: IncomingHttpHeaders; body: string }
type Context = {
  base: string
  asked: Asked[]
  answer: { status: number; body: string }
  close: () => void
}
const test = suite<Context>('web search')

test.before.each(async context => {
  context.asked = []
  context.answer = { status: 200, body: '{}' }
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = []
    for await (const chunk of req) chunks.push(chunk as Buffer)
    const { method = '', url = '', headers } = req
    context.asked.push({ method, url, headers, body: Buffer.concat(chunks).toString() })
    res.writeHead(context.answer.status).end(context.answer.body)
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  context.base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  context.close = () => {
    server.closeAllConnections()
    server.close()
  }
})
test.after.each(({ close }) => close())

const search = (config: Record<string, unknown>, env: Record<string, string>, query = 'tea') => {
  const service = chooseSearch(configOf(config).web, env)
  if (!service) throw new Error('There is no service.')
  return searchWeb(service, query, { env, signal: new AbortController().signal })
}
const said = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'it was answered',
    (error: Error) => error.message,
  )

test('uses the configured service, else one with a key in the home; skips services without a key', () => {
  const all = {
    SEARXNG_URL: 'http://x',
    BRAVE_API_KEY: 'brave-key',
    TAVILY_API_KEY: 'tavily-key',
  }
  const name = (config: Record<string, unknown>, env: Record<string, string>) =>
    chooseSearch(configOf(config).web, env)?.name ?? null
  assert.is(name({}, {}), null)
  assert.is(name({}, { BRAVE_API_KEY: '  ' }), null)
  assert.is(name({}, all), 'searxng')
  assert.is(name({ web: { backend: 'tavily' } }, all), 'tavily')
  assert.is(name({ web: { backend: 'tavily', search_backend: 'brave' } }, all), 'brave')
  assert.is(name({ web: { backend: 'firecrawl' } }, all), 'searxng')
  assert.is(name({ web: { backend: 'tavily' } }, { BRAVE_SEARCH_API_KEY: 'k' }), 'brave')
})

test('no error message contains a key', async ({ base, answer }) => {
  const env = { TAVILY_API_KEY: 'tvly-secret-secret', TAVILY_BASE_URL: base }
  for (const [status, body, words] of [
    [401, '', 'does not accept the key'],
    [429, '', 'slow down'],
    [500, 'tvly-secret-secret', 'status 500'],
    [200, '<html>', 'no JSON'],
  ] as const) {
    Object.assign(answer, { status, body })
    const why = await said(search({}, env))
    assert.match(why, words)
    assert.not.match(why, 'secret')
  }
  const unreachable = { SEARXNG_URL: 'http://127.0.0.1:1' }
  assert.match(await said(search({}, unreachable)), 'searxng failed')
})

test('queries each service in its own API and returns the same shape', async ({
  base,
  answer,
  asked,
}) => {
  const hit = {
    title: 'Tea',
    url: 'https://example.org/',
    content: 'Leaves',
    description: 'Leaves',
  }
  const hits = [{ title: 'Tea', url: 'https://example.org/', description: 'Leaves', position: 1 }]
  answer.body = JSON.stringify({ results: [hit], web: { results: [hit] } })
  assert.equal(await search({}, { SEARXNG_URL: `${base}/` }, 'a & b'), hits)
  assert.equal(
    await search({}, { BRAVE_API_KEY: 'brave-key', BRAVE_SEARCH_BASE_URL: base }, 'a & b'),
    hits,
  )
  assert.equal(
    await search({}, { TAVILY_API_KEY: 'tavily-key', TAVILY_BASE_URL: base }, 'a & b'),
    hits,
  )
  const [searxng, brave, tavily] = asked
  assert.is(searxng?.url, '/search?q=a+%26+b&format=json')
  assert.is(brave?.url, '/res/v1/web/search?q=a+%26+b&count=10')
  assert.is(brave?.headers['x-subscription-token'], 'brave-key')
  assert.equal([tavily?.method, tavily?.url], ['POST', '/search'])
  assert.is(tavily?.headers.authorization, 'Bearer tavily-key')
  assert.equal(JSON.parse(tavily?.body ?? ''), { query: 'a & b', max_results: 10 })
})

test('an unexpected response shape is no results, not an error', async ({ base, answer }) => {
  for (const body of ['null', '[]', '{"results":[null,1,{"url":5}]}', '{"results":{}}']) {
    answer.body = body
    assert.equal(await search({}, { SEARXNG_URL: base }), [], body)
  }
})

test.run()
