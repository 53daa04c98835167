/** Traces of turns: what a collector receives, and that nothing is loaded without one. */
import { spawnSync } from 'node:child_process'
import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { complete } from '../../../lib/agent/complete.ts'
import type { AgentEvent } from '../../../lib/agent/events.ts'
import { ProviderFailure } from '../../../lib/agent/failure.ts'
import type { ProviderDelta, ProviderRequest } from '../../../lib/agent/provider-types.ts'
import type { Agent, AgentRequest, ModelEndpoint, Outcome } from '../../../lib/agent/types.ts'
import { UsageMeter } from '../../../lib/agent/usage-meter.ts'
import { watchSecrets } from '../../../lib/base/redact/redact.ts'
import { emptyUsage } from '../../../lib/schema/usage.ts'
import { Metrics } from '../../../lib/operations/telemetry/metrics.ts'
import { observeAgent } from '../../../lib/operations/telemetry/observed-agent.ts'
import { Tracing } from '../../../lib/operations/telemetry/tracing.ts'
import { readTracingSettings } from '../../../lib/operations/telemetry/tracing-settings.ts'
import { startApp } from '../../_app.ts'

type Value = { stringValue?: string; intValue?: number; arrayValue?: { values: Value[] } }
type Attribute = { key: string; value: Value }
type ReceivedSpan = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  kind: number
  attributes: Attribute[]
  status: { code?: number }
}

const plain = (attributes: readonly Attribute[]) =>
  Object.fromEntries(
    attributes.map(({ key, value }) => [
      key,
      value.stringValue ?? value.intValue ?? value.arrayValue?.values.map(each => each.stringValue),
    ]),
  )

/** Keeps what it receives: OTLP over HTTP as JSON (opentelemetry.io/docs/specs/otlp). */
const createCollector = async (status = 200) => {
  const bodies: string[] = []
  const requests: IncomingMessage[] = []
  const server: Server = createServer(async (req, res) => {
    requests.push(req)
    bodies.push(Buffer.concat(await req.toArray()).toString())
    res.writeHead(status, { 'content-type': 'application/json' }).end('{}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const resources = () => bodies.flatMap(body => JSON.parse(body).resourceSpans)
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    bodies,
    resource: () => plain(resources()[0].resource.attributes),
    spans: (): ReceivedSpan[] =>
      resources().flatMap(each => each.scopeSpans.flatMap((scope: { spans: [] }) => scope.spans)),
    close: () => void server.close(),
  }
}

const ENDPOINT: ModelEndpoint = {
  provider: 'mistral',
  model: 'test-model',
  apiMode: 'chat_completions',
  baseUrl: 'http://127.0.0.1:9999/v1',
  apiKey: 'sk-secret-key',
  contextLength: 8_192,
}

const DELTAS: readonly ProviderDelta[] = [
  { type: 'text', text: 'the private answer' },
  { type: 'usage', inputTokens: 120, outputTokens: 8, cacheReadTokens: 100 },
  { type: 'finish', reason: 'tool_calls' },
]

/** What an observed turn does: a model call, a tool call, and a model call that fails. */
const createRun = (endpoint = ENDPOINT) => {
  const sent: ProviderRequest[] = []
  const request = {
    endpoint,
    sessionKey: 'session-1',
    signal: new AbortController().signal,
    providers: {
      async *chat_completions(given: ProviderRequest) {
        sent.push(given)
        if (sent.length === 2) throw new ProviderFailure('rate_limit', 'no')
        yield* DELTAS
      },
    },
  } as unknown as AgentRequest
  const agent: Agent = async ({ providers, observe }, emit) => {
    const call = async () => {
      const given = {
        endpoint,
        messages: [{ role: 'user', content: 'the private question' }],
        tools: [],
        signal: request.signal,
      } as unknown as ProviderRequest
      await complete({
        provider: providers.chat_completions!,
        request: given,
        observe,
        messageId: 'm1',
        emit: () => undefined,
        notice: () => undefined,
        meter: new UsageMeter(endpoint),
        wait: async () => undefined,
        random: () => 0,
        maxAttempts: 1,
      })
    }
    await call()
    const tool = { callId: 'call-1', name: 'terminal', preview: null, args: { command: 'private' } }
    emit({ type: 'tool', ...tool } as AgentEvent)
    emit({ type: 'tool_complete', ...tool, durationMs: 1, isError: true } as AgentEvent)
    await call().catch(() => undefined)
    const outcome: Outcome = {
      status: 'failed',
      text: '',
      steps: 2,
      usage: { ...emptyUsage, input_tokens: 120, output_tokens: 8, estimated_cost: 0.5 },
      provider: endpoint.provider,
      model: endpoint.model,
      failure: { type: 'rate_limit', message: 'too many' },
    }
    return outcome
  }
  return { agent, request, sent }
}

const traced = async (env: Record<string, string>, endpoint?: ModelEndpoint) => {
  const warnings: string[] = []
  const settings = readTracingSettings(env)
  if (!settings) throw new Error('off')
  const warn = (text: string) => void warnings.push(text)
  const tracing = new Tracing({ ...settings, version: 'v1', warn })
  const { agent, request, sent } = createRun(endpoint)
  const run = () => observeAgent(agent, [tracing.observeTurn])(request, () => undefined)
  return { run, sent, warnings, close: () => tracing.close() }
}

const test = suite('traces')

test('a turn with its model requests and tool calls, without the contents of messages', async () => {
  const collector = await createCollector()
  const { run, close } = await traced({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    OTEL_EXPORTER_OTLP_HEADERS: 'x-key=abc',
    OTEL_SERVICE_NAME: 'mine',
  })
  await run()
  await close()
  collector.close()
  const [received] = collector.requests
  assert.equal([received?.url, received?.headers['x-key']], ['/v1/traces', 'abc'])
  assert.equal(collector.resource(), { 'service.name': 'mine', 'service.version': 'v1' })
  const spans = collector.spans()
  const [turn] = spans.filter(({ name }) => name === 'invoke_agent agent-webui')
  const below = spans.filter(({ parentSpanId }) => parentSpanId === turn?.spanId)
  assert.equal(
    below.map(({ name, kind }) => [name, kind]),
    // SPAN_KIND_CLIENT is 3, SPAN_KIND_INTERNAL is 1.
    [
      ['chat test-model', 3],
      ['execute_tool terminal', 1],
      ['chat test-model', 3],
    ],
  )
  assert.is(new Set(spans.map(({ traceId }) => traceId)).size, 1)
  assert.equal(plain(turn?.attributes ?? []), {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'agent-webui',
    'gen_ai.provider.name': 'mistral_ai',
    'gen_ai.request.model': 'test-model',
    'gen_ai.conversation.id': 'session-1',
    'gen_ai.usage.input_tokens': 120,
    'gen_ai.usage.output_tokens': 8,
    'gen_ai.response.model': 'test-model',
    'error.type': 'rate_limit',
  })
  const [first, tool, second] = below
  assert.equal(plain(first?.attributes ?? []), {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': 'mistral_ai',
    'gen_ai.request.model': 'test-model',
    'server.address': '127.0.0.1',
    'server.port': 9999,
    'gen_ai.usage.input_tokens': 120,
    'gen_ai.usage.output_tokens': 8,
    'gen_ai.usage.cache_read.input_tokens': 100,
    'gen_ai.response.finish_reasons': ['tool_calls'],
  })
  assert.is(plain(tool?.attributes ?? [])['gen_ai.tool.call.id'], 'call-1')
  assert.is(plain(second?.attributes ?? [])['error.type'], 'rate_limit')
  assert.equal([first?.status.code, second?.status.code], [0, 2])
  assert.not.match(collector.bodies.join(), /private|sk-secret/)
})

test('a known secret in a name of a span or an attribute is masked, whoever put it there', async () => {
  const secrets = ['model-Kq83hfLmz0PwXs71']
  const unwatch = watchSecrets(() => secrets)
  const collector = await createCollector()
  try {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
    const { run, close } = await traced(env, { ...ENDPOINT, model: secrets.join() })
    await run()
    await close()
    assert.ok(collector.spans().some(({ name }) => name === 'chat model-...Xs71'))
    assert.not.match(collector.bodies.join(), secrets.join())
  } finally {
    unwatch()
    collector.close()
  }
})

const PARENT = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'

test('a turn that HTTP starts belongs to the trace of that request', async () => {
  const collector = await createCollector()
  const app = await startApp({ env: { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url } })
  const { body } = await app.post('/api/session/new', {})
  const ended = new Promise<void>(resolve => {
    const frames = fetch(`${app.url}/api/events?watch=${body.session.session_id}`)
    void frames.then(async answer => {
      for await (const chunk of answer.body ?? [])
        if (Buffer.from(chunk).includes('stream_end')) return resolve()
    })
  })
  await fetch(`${app.url}/api/chat/start`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', traceparent: PARENT },
    body: JSON.stringify({ session_id: body.session.session_id, message: 'hello' }),
  })
  await ended
  await app.close()
  collector.close()
  const spans = collector.spans()
  assert.ok(spans.length >= 2)
  assert.equal([...new Set(spans.map(({ traceId }) => traceId))], [PARENT.split('-')[1]])
})

test('metrics: turns, tokens and cost by provider and model, of which there is a bound', async () => {
  const sources = {
    runningTurns: () => 0,
    queuedMessages: () => 0,
    eventStreams: () => 0,
    freeBytes: () => 1,
  }
  const metrics = await Metrics.open('v1', sources)
  for (let n = 0; n < 150; n++) {
    const { agent, request } = createRun({ ...ENDPOINT, model: `m"${n}\n` })
    await observeAgent(agent, [metrics.observeTurn])(request, () => undefined)
  }
  const { text } = await metrics.text('')
  const lines = text.split('\n')
  assert.ok(lines.includes('agent_webui_turns_total{outcome="failed"} 150'))
  assert.ok(lines.includes('agent_webui_turn_errors_total{kind="rate_limit"} 150'))
  assert.ok(lines.includes('agent_webui_tool_calls_total{result="error"} 150'))
  const of = (name: string) => lines.filter(line => line.startsWith(`agent_webui_${name}{`))
  assert.is(of('model_cost_dollars_total').length, 101)
  assert.ok(
    of('model_cost_dollars_total').includes(
      'agent_webui_model_cost_dollars_total{provider="other",model="other"} 25',
    ),
  )
  assert.ok(
    of('model_tokens_total').includes(
      'agent_webui_model_tokens_total{provider="other",model="other",type="input"} 6000',
    ),
  )
  assert.ok(of('model_tokens_total')[0]?.includes('model="m\\"0\\n"'))
})

test('without a collector and a token, none of the libraries is loaded', () => {
  const hook = `import { registerHooks } from 'node:module'
registerHooks({ load(url, context, next) {
  if (/opentelemetry|prom-client/.test(url)) process.stderr.write('LOADED ' + url)
  return next(url, context)
} })`
  const root = join(import.meta.dirname, '../../..')
  const code = `import { Telemetry } from '${root}/lib/app/telemetry.ts'
import { readConfig } from '${root}/lib/config.ts'
if (process.argv[2] === 'all') await import('${root}/router.ts')
const env = { HOME: '/tmp', ...JSON.parse(process.argv[1]) }
await Telemetry.open(readConfig(env, []), 'v1', { info() {}, warn() {} }, {})`
  const loads = (env: Record<string, string>, extent = ''): string[] => {
    const preload = `data:text/javascript,${encodeURIComponent(hook)}`
    const { stderr } = spawnSync(
      process.execPath,
      ['--import', preload, '--input-type=module', '-e', code, JSON.stringify(env), extent],
      { encoding: 'utf8' },
    )
    return stderr.match(/opentelemetry(?=\/api\/)|prom-client(?=\/index)|Error:.*/g) ?? []
  }
  // The whole service, without starting it.
  assert.equal(loads({}, 'all'), [])
  const on = {
    AGENT_WEBUI_METRICS_TOKEN: 'metrics-0123456789abcdef',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
  }
  assert.equal([...new Set(loads(on))].sort(), ['opentelemetry', 'prom-client'])
})

test.run()
