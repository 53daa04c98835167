/** Fetching model lists: accepted formats, time limits, and protection against SSRF. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import {
  fetchModelList,
  type ModelListOptions,
  parseModelList,
  type ModelListRequest,
} from '../../../lib/models/fetch-model-list.ts'
import { idsOf, type ListServer, startLists } from './_lists.ts'

const test = suite<{ lists: ListServer }>('model list fetcher')
test.before.each(async context => {
  context.lists = await startLists(idsOf('a', 'b'))
})
test.after.each(({ lists }) => lists.close())

const question = (url: string, extra: Partial<ModelListRequest> = {}): ModelListRequest => ({
  url,
  headers: {},
  timeoutMs: 8_000,
  isKnown: false,
  ...extra,
})

const refused = async (asking: Promise<unknown>): Promise<string> => {
  try {
    await asking
  } catch (error) {
    assert.instance(error, Error)
    return (error as Error).message
  }
  throw new Error('It was not refused')
}

const askingWith = (options: ModelListOptions) => (asked: ModelListRequest) =>
  fetchModelList(asked, options)

const at = (address: string) => async () => [{ address, family: address.includes(':') ? 6 : 4 }]

test('a host name that resolves to a private address is rejected before anything is sent', async ({
  lists,
}) => {
  for (const address of [
    '127.0.0.1',
    '10.1.2.3',
    '192.168.0.1',
    '169.254.169.254',
    '::1',
    'fd00::1',
    '::ffff:127.0.0.1',
  ]) {
    const ask = askingWith({ resolve: at(address) })
    const url = `http://models.example:${lists.port}/v1/models`
    assert.match(await refused(ask(question(url))), 'private address', address)
  }
  assert.is(lists.asked.length, 0)
})

test('allows local host names and IP addresses', async ({ lists }) => {
  const ask = askingWith({ resolve: at('127.0.0.1') })
  for (const host of ['my-ollama.example', 'lmstudio.lan', 'localhost', '127.0.0.1']) {
    const found = await ask(question(`http://${host}:${lists.port}/v1/models`))
    assert.equal(
      found.map(({ id }) => id),
      ['a', 'b'],
      host,
    )
  }
})

test('connects to the address that was checked', async ({ lists }) => {
  const answers = ['127.0.0.1', '10.9.9.9']
  let looked = 0
  const ask = askingWith({
    resolve: async () => [{ address: answers[looked++] ?? '', family: 4 }],
  })
  await ask(question(`http://ollama.example:${lists.port}/models`))
  assert.is(looked, 1)
})

test('rejects other schemes and credentials in the address', async () => {
  const ask = fetchModelList
  for (const url of ['file:///etc/passwd', 'ftp://host/', 'http://a:b@127.0.0.1/', 'nonsense'])
    assert.match(await refused(ask(question(url))), 'plain http://', url)
})

test('fetching the list times out after eight seconds', async ({ lists }) => {
  lists.answer = { silent: true }
  const clock = new AbortController()
  const given: number[] = []
  const ask = askingWith({
    deadline: ms => {
      given.push(ms)
      return clock.signal
    },
  })
  const asking = refused(ask(question(`${lists.url}/v1/models`)))
  await lists.arrived(1)
  clock.abort(new DOMException('late', 'TimeoutError'))
  assert.match(await asking, 'timed out')
  assert.equal(given, [8_000])
})

test('errors contain no key; redirects are not followed', async ({ lists }) => {
  const ask = fetchModelList
  const headers = { authorization: 'Bearer sk-very-secret-key' }
  const cases: [ListServer['answer'], RegExp][] = [
    [{ status: 401, body: 'bad key sk-very-secret-key' }, /rejected the key/],
    [{ status: 404 }, /no model list/],
    [{ status: 500 }, /status 500/],
    [{ status: 302, headers: { location: `${lists.url}/elsewhere` } }, /status 302/],
    [{ body: '<html>' }, /didn’t return a list of models/],
    [{ body: { ok: true } }, /didn’t return a list of models/],
  ]
  for (const [answer, says] of cases) {
    lists.answer = answer
    const sentence = await refused(ask(question(`${lists.url}/v1/models`, { headers })))
    assert.match(sentence, says)
    assert.not.match(sentence, 'secret')
  }
  assert.ok(lists.asked.every(({ path }) => path === '/v1/models'))
})

test('a refused connection is reported in a sentence', async ({ lists }) => {
  const { url } = lists
  await lists.close()
  assert.match(await refused(fetchModelList(question(`${url}/models`))), 'connection refused')
  lists.close = async () => undefined
})

test('accepts data or models, and id, name or model, each once', () => {
  const ids = (value: unknown) => parseModelList(value)?.map(({ id }) => id)
  assert.equal(ids({ data: [{ id: 'a' }, { name: 'b' }, { model: 'c' }, 'd', { id: 'a' }] }), [
    'a',
    'b',
    'c',
    'd',
  ])
  assert.equal(ids({ models: [{ id: 'models/gemini-2.5-pro' }] }), ['gemini-2.5-pro'])
  assert.equal(ids([{ id: 'x' }]), ['x'])
  assert.equal(ids({ data: [{ id: 1 }, null, {}, { id: ' ' }, { id: 'a\nb' }] }), [])
  assert.is(ids('text'), undefined)
  assert.is(ids(null), undefined)
})

test('takes the context window from the server’s list', () => {
  const [a, b, c, d] = parseModelList({
    data: [
      { id: 'a', context_length: 8_192 },
      { id: 'b', max_model_len: 32_768 },
      { id: 'c', meta: { n_ctx_train: 4_096 } },
      { id: 'd', context_length: -1 },
    ],
  }) as { contextLength: number }[]
  assert.equal(
    [a, b, c, d].map(model => model?.contextLength),
    [8_192, 32_768, 4_096, 0],
  )
})

test.run()
