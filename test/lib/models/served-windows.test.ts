/** The window a local server really uses: who is asked, what its answer means, and what calls teach beyond it. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { createTestClock } from '../../_clock.ts'
import type { ModelEndpoint } from '../../../lib/agent/types.ts'
import { ServedWindows } from '../../../lib/models/served-windows.ts'
import {
  llamaModels,
  llamaProps,
  OLLAMA_VERSION,
  ollamaRunning,
  ollamaShown,
  olderStudioModels,
  servedModels,
  startLocalServer,
  studioModels,
} from './_local-server.ts'

const test = suite('served windows')
const MODEL = 'gemma'
const never = new AbortController().signal

const endpointAt = (baseUrl: string, more: Partial<ModelEndpoint> = {}): ModelEndpoint => ({
  provider: 'custom',
  model: MODEL,
  apiMode: 'chat_completions',
  baseUrl,
  apiKey: 'sk-local-1234',
  contextLength: 131_072,
  ...more,
})

const withServer = async (
  answers: Record<string, unknown>,
  work: (server: Awaited<ReturnType<typeof startLocalServer>>) => Promise<void>,
  elsewhere?: unknown,
) => {
  const server = await startLocalServer(answers, elsewhere)
  try {
    await work(server)
  } finally {
    await server.close()
  }
}

/** What LM Studio answers, with status 200, at paths it does not have. */
const UNEXPECTED = { error: 'Unexpected endpoint or method. (GET /props)' }

const PROGRAMS: [
  name: string,
  answers: Record<string, unknown>,
  tokens: number,
  elsewhere?: unknown,
][] = [
  [
    'Ollama: the loaded model',
    {
      '/api/version': OLLAMA_VERSION,
      '/api/ps': ollamaRunning(`${MODEL}:latest`, 8_192),
      '/api/show': ollamaShown('num_ctx 32768'),
    },
    8_192,
  ],
  [
    'Ollama: num_ctx of a model that is not loaded',
    {
      '/api/version': OLLAMA_VERSION,
      '/api/ps': { models: [] },
      '/api/show': ollamaShown('stop "<end_of_turn>"\nnum_ctx                        16384'),
    },
    16_384,
  ],
  [
    'Ollama: num_ctx above what the model was trained with',
    {
      '/api/version': OLLAMA_VERSION,
      '/api/ps': ollamaRunning('other:latest', 4_096),
      '/api/show': ollamaShown('num_ctx 65536', 32_768),
    },
    32_768,
  ],
  [
    'llama.cpp: the window of a slot, not the trained one',
    { '/props': llamaProps(8_192), '/v1/models': llamaModels(131_072) },
    8_192,
  ],
  [
    'LM Studio 0.4: the loaded instance',
    { '/api/v1/models': studioModels(MODEL, 4_096, 131_072) },
    4_096,
    UNEXPECTED,
  ],
  [
    'LM Studio 0.3: the loaded model',
    { '/api/v0/models': olderStudioModels(MODEL, 12_000, 131_072) },
    12_000,
    UNEXPECTED,
  ],
  ['vLLM', { '/v1/models': servedModels('vllm', MODEL, 24_576) }, 24_576],
  ['SGLang', { '/v1/models': servedModels('sglang', MODEL, 40_960) }, 40_960],
]

for (const [name, answers, tokens, elsewhere] of PROGRAMS)
  test(`reads the window in use: ${name}`, () =>
    withServer(
      answers,
      async server => {
        const windows = new ServedWindows({ clock: createTestClock() })
        const endpoint = endpointAt(server.url)
        assert.is((await windows.ask(endpoint))?.tokens, tokens)
        assert.is(windows.apply(endpoint).contextLength, tokens)
        assert.is(windows.knownTokens(server.url, MODEL), tokens)
        assert.ok(server.asked.every(({ key }) => key === 'Bearer sk-local-1234'))
      },
      elsewhere,
    ))

const SEEING: [name: string, answers: Record<string, unknown>, vision: boolean | undefined][] = [
  ['Ollama', { '/api/version': OLLAMA_VERSION, '/api/show': ollamaShown('') }, true],
  ['llama.cpp without a projector', { '/props': llamaProps(8_192) }, false],
  ['LM Studio 0.3', { '/api/v0/models': olderStudioModels(MODEL, 12_000, 131_072) }, false],
  ['vLLM, which does not say', { '/v1/models': servedModels('vllm', MODEL, 24_576) }, undefined],
]

for (const [name, answers, vision] of SEEING)
  test(`whether a model accepts images: ${name}`, () =>
    withServer(answers, async server => {
      const windows = new ServedWindows({ clock: createTestClock() })
      const endpoint = endpointAt(server.url)
      await windows.ask(endpoint)
      assert.is(windows.apply(endpoint).vision, vision)
      assert.is(windows.apply({ ...endpoint, vision: true }).vision, vision ?? true)
      const configured = { ...endpoint, vision: !vision, hasConfiguredVision: true as const }
      assert.is(windows.apply(configured).vision, !vision, 'config.yaml wins')
    }))

test('Ollama: a model of its cloud has the whole window and is not loaded', () =>
  withServer(
    {
      '/api/version': OLLAMA_VERSION,
      '/api/ps': { models: [] },
      '/api/show': { ...ollamaShown('', 262_144), remote_host: 'https://ollama.com:443' },
    },
    async server => {
      const windows = new ServedWindows({ clock: createTestClock() })
      const endpoint = endpointAt(server.url)
      const answer = await windows.settle(endpoint, never)
      assert.equal([answer?.tokens, answer?.isCertain], [262_144, true])
      assert.is(windows.apply(endpoint).contextLength, 262_144)
      assert.not.ok(server.paths().includes('/api/generate'))
    },
  ))

test('a server that does not say leaves the window as it is', () =>
  withServer({ '/v1/models': { data: [{ id: MODEL }] } }, async server => {
    const windows = new ServedWindows({ clock: createTestClock() })
    assert.is(await windows.ask(endpointAt(server.url)), null)
    assert.is(windows.apply(endpointAt(server.url)).contextLength, 131_072)
    const count = server.asked.length
    await windows.ask(endpointAt(server.url))
    assert.is(server.asked.length, count, 'it is not asked again at once')
    assert.not.ok(
      server.asked.some(({ body }) => body !== null),
      'nothing is posted to a stranger',
    )
  }))

test('LM Studio does not say what an unloaded model will use', () =>
  withServer({ '/api/v1/models': studioModels(MODEL, null, 131_072) }, async server => {
    const windows = new ServedWindows({ clock: createTestClock() })
    assert.is((await windows.ask(endpointAt(server.url)))?.tokens, 0)
    assert.is(
      windows.apply(endpointAt(server.url, { contextLength: 32_000 })).contextLength,
      32_000,
    )
  }))

test('public addresses are not asked, unless the provider is such a program', async () => {
  let requests = 0
  const dispatch = () => {
    requests += 1
    throw new Error('no network in tests')
  }
  const windows = new ServedWindows({
    clock: createTestClock(),
    dispatcher: { dispatch } as never,
  })
  const far = 'http://models.example.com:9/v1'
  await windows.ask(endpointAt(far))
  await windows.ask(endpointAt('https://ollama.com/v1', { provider: 'ollama' }))
  await windows.ask(endpointAt('http://10.0.0.9/v1', { apiMode: 'codex_responses' }))
  assert.is(requests, 0)
  await windows.ask(endpointAt(far, { provider: 'vllm' }))
  assert.ok(requests > 0)
})

test('a silent server costs no more than the time limit, once', () =>
  withServer({}, async server => {
    server.silent = true
    const windows = new ServedWindows({ clock: createTestClock(), askMs: 100 })
    assert.is(await windows.ask(endpointAt(server.url)), null)
    const count = server.asked.length
    await windows.ask(endpointAt(server.url))
    assert.is(server.asked.length, count)
  }))

test('asks again after a while, only at the paths of that program, and recognizes another one', () =>
  withServer({ '/props': llamaProps(8_192) }, async server => {
    const clock = createTestClock()
    const windows = new ServedWindows({ clock })
    await windows.ask(endpointAt(server.url))
    server.asked.splice(0)
    server.answers = { '/props': llamaProps(16_384) }
    assert.is((await windows.ask(endpointAt(server.url)))?.tokens, 8_192, 'cached')
    await clock.advance(60_000)
    assert.is((await windows.ask(endpointAt(server.url)))?.tokens, 16_384)
    assert.equal(server.paths(), ['/props'])
    await clock.advance(60_000)
    server.answers = { '/v1/models': servedModels('vllm', MODEL, 65_536) }
    assert.is((await windows.ask(endpointAt(server.url)))?.tokens, 65_536)
    await clock.advance(60_000)
    server.answers = {}
    assert.is((await windows.ask(endpointAt(server.url)))?.tokens, 65_536, 'the last answer stays')
  }))

test('a configured window is kept, a learned one is smaller, until the server’s answer changes', () =>
  withServer({ '/props': llamaProps(16_384) }, async server => {
    const clock = createTestClock()
    const windows = new ServedWindows({ clock })
    const configured = endpointAt(server.url, { contextLength: 32_768, hasConfiguredWindow: true })
    await windows.ask(configured)
    assert.is(windows.apply(configured).contextLength, 32_768)
    windows.learn(configured, 8_192)
    assert.is(windows.apply(configured).contextLength, 8_192)
    assert.is(windows.apply(endpointAt(server.url)).contextLength, 8_192)
    await clock.advance(60_000)
    await windows.ask(configured)
    assert.is(windows.apply(configured).contextLength, 8_192, 'the same answer: still learned')
    server.answers = { '/props': llamaProps(20_000) }
    await clock.advance(60_000)
    await windows.ask(configured)
    assert.is(windows.apply(configured).contextLength, 32_768)
    assert.is(windows.apply(endpointAt(server.url)).contextLength, 20_000)
  }))

test('a window that an error named is asked for again after an hour', async () => {
  const clock = createTestClock()
  const windows = new ServedWindows({ clock })
  const endpoint = endpointAt('https://llm.example/v1')
  windows.learn(endpoint, 8_192)
  assert.is(windows.apply(endpoint).contextLength, 8_192)
  await clock.advance(3_600_000)
  assert.is(windows.apply(endpoint).contextLength, 131_072)
})

test('a window that was learned too small is forgotten when a longer prompt was read', () => {
  const windows = new ServedWindows({ clock: createTestClock() })
  const endpoint = endpointAt('https://api.example.com/v1', { contextLength: 200_000 })
  windows.learn(endpoint, 8_192)
  windows.noteRead(endpoint, 8_000)
  assert.is(windows.apply(endpoint).contextLength, 8_192)
  windows.noteRead(endpoint, 20_000)
  assert.is(windows.apply(endpoint).contextLength, 200_000)
})

test('an Ollama model that is not loaded is loaded first, because only then its window is certain', () =>
  withServer(
    {
      '/api/version': OLLAMA_VERSION,
      '/api/ps': { models: [] },
      '/api/show': ollamaShown('stop "x"'),
    },
    async server => {
      const windows = new ServedWindows({ clock: createTestClock() })
      const endpoint = endpointAt(server.url)
      assert.is((await windows.ask(endpoint))?.tokens, 4_096, 'the documented default')
      const { answers } = server
      const loaded = { ...answers, '/api/ps': ollamaRunning(MODEL, 32_768) }
      server.answers = { ...answers, '/api/generate': { done: true, done_reason: 'load' } }
      Object.defineProperty(server.answers, '/api/generate', {
        get: () => {
          server.answers = loaded
          return { done: true, done_reason: 'load' }
        },
      })
      assert.is((await windows.settle(endpoint, never))?.tokens, 32_768)
      const load = server.asked.find(({ path }) => path === '/api/generate')
      assert.equal(load?.body, { model: MODEL, stream: false })
    },
  ))

test('a model that is not there, or a stopped turn, ends the wait for its loading', () =>
  withServer(
    { '/api/version': OLLAMA_VERSION, '/api/ps': { models: [] }, '/api/show': ollamaShown('') },
    async server => {
      const windows = new ServedWindows({ clock: createTestClock() })
      const configured = endpointAt(server.url, { hasConfiguredWindow: true })
      assert.is((await windows.settle(configured, never))?.tokens, 4_096)
      assert.not.ok(server.paths().includes('/api/generate'), 'its window is configured')
      assert.is((await windows.settle(endpointAt(server.url), never))?.tokens, 4_096)
      const stopped = AbortSignal.abort(new Error('stopped'))
      assert.is((await windows.settle(endpointAt(server.url), stopped))?.tokens, 4_096)
    },
  ))

test('ollama_num_ctx: requests go to Ollama’s own API, and only to Ollama', async () => {
  const more = { ollamaContext: 32_768 }
  await withServer(
    {
      '/api/version': OLLAMA_VERSION,
      '/api/ps': { models: [] },
      '/api/show': ollamaShown('', 16_384),
    },
    async server => {
      const windows = new ServedWindows({ clock: createTestClock() })
      const endpoint = endpointAt(server.url, more)
      assert.is(windows.apply(endpoint).apiMode, 'chat_completions', 'not known yet')
      await windows.settle(endpoint, never)
      const real = windows.apply(endpoint)
      assert.equal([real.apiMode, real.contextLength], ['ollama_chat', 16_384])
      assert.not.ok(server.paths().includes('/api/generate'), 'the call itself loads it')
    },
  )
  await withServer({ '/props': llamaProps(8_192) }, async server => {
    const windows = new ServedWindows({ clock: createTestClock() })
    await windows.settle(endpointAt(server.url, more), never)
    const real = windows.apply(endpointAt(server.url, more))
    assert.equal([real.apiMode, real.contextLength], ['chat_completions', 8_192])
  })
})

test.run()
