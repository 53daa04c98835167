/** The loop: retries, unusual responses, tool order, stopping at any moment. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ProviderFailure } from '../../../lib/agent/failure.ts'
import type { Tool, WireMessage } from '../../../lib/agent/types.ts'
import { gate } from '../../_provider.ts'
import { endpoint, toolOf, finish, run, scripted, shape, text, thought, use } from './_run.ts'
import { createTestClock } from '../../_clock.ts'
import { waitOn } from '../../../lib/agent/retry.ts'

const test = suite('loop')

const tool = (name: string, run: Tool['run'], kind: Tool['kind'] = 'execute') =>
  toolOf(name, run, { kind })

const ok = tool('ok', () => ({ content: '"fine"' }))
const down = new ProviderFailure('network', 'down')

test('waits as long as the provider asks; fails when that is over the limit of the turn', async () => {
  const busy = (retryAfterMs: number) => new ProviderFailure('rate_limit', 'busy', { retryAfterMs })
  const { outcome, waits } = await run(
    scripted([busy(7000)], [busy(900_000)], [text('x')]).provider,
  )
  assert.is(outcome.status, 'finished')
  assert.equal(waits, [10_500, 900_000])
  for (const [retryAfterMs, maxRetryWaitMs] of [
    [3_600_001, undefined],
    [900_001, 900_000],
  ] as const) {
    const late = await run(scripted([busy(retryAfterMs)]).provider, { maxRetryWaitMs })
    assert.equal([late.outcome.failure?.type, late.waits], ['rate_limit', []])
  }
})

test('a provider that throws an unexpected value, and an emit that throws', async () => {
  const odd = await run(scripted([new TypeError('odd')]).provider)
  assert.is(odd.outcome.failure?.type, 'error')
  assert.match(`${odd.outcome.failure?.message}`, 'odd')
  // Also while text is held back.
  const full = await run(scripted([text('x <tool_call>{')]).provider, {}, () => {
    throw new Error('disk full')
  })
  assert.is(full.outcome.status, 'failed')
  assert.is(full.outcome.failure?.message, 'disk full')
})

// Responses.

test('one response: deltas, message, usage', async () => {
  const { provider, received } = scripted([
    thought('hm'),
    text('Hel'),
    text('lo'),
    { type: 'usage', inputTokens: 100, outputTokens: 10 },
    finish('stop'),
  ])
  const { outcome, events, messages } = await run(provider, {
    system: 'You are.',
    endpoint: endpoint(1_000, {
      provider: 'p',
      apiMode: 'demo',
      price: { input: 2, output: 10 },
    }),
  })
  assert.is(shape(events), 'reasoning token token message')
  assert.equal(messages, [
    { id: 'm1', role: 'assistant', content: 'Hello', reasoning: 'hm', model: 'm', provider: 'p' },
  ])
  assert.equal(outcome, {
    status: 'finished',
    text: 'Hello',
    steps: 1,
    provider: 'p',
    model: 'm',
    usage: {
      input_tokens: 100,
      output_tokens: 10,
      estimated_cost: 0.0003,
      context_length: 1000,
      threshold_tokens: 500,
      last_prompt_tokens: 100,
    },
  })
  assert.equal(received[0]?.messages, [
    { role: 'system', content: 'You are.' },
    { role: 'user', content: 'hello' },
  ])
})

test('continues a truncated response in the same message, up to three times', async () => {
  const { provider, received } = scripted(
    [text('one '), finish('length')],
    [text('two'), finish('stop')],
  )
  const { messages } = await run(provider)
  assert.is(messages[0]?.content, 'one two')
  assert.is(messages.length, 1)
  assert.equal(received[1]?.messages.at(-2), { role: 'assistant', content: 'one ' })
  assert.is(received[1]?.messages.at(-1)?.role, 'user')
  const cut = [text('x'), finish('length')]
  const long = await run(scripted(cut, cut, cut, cut).provider)
  assert.is(long.messages[0]?.content, 'xxxx')
  assert.is(long.events.at(-2)?.type, 'warning')
})

test('a tool call cut at the length limit: one retry, then a failure', async () => {
  const cut = [use('ok', '{"a": "unfin'), finish('length')]
  const once = await run(scripted(cut, [use('ok', {})], [text('x')]).provider, { tools: [ok] })
  assert.is(once.outcome.status, 'finished')
  assert.is(shape(once.events), 'retry message tool tool_complete message token message')
  const twice = await run(scripted(cut, cut).provider, { tools: [ok] })
  assert.is(twice.outcome.failure?.type, 'error')
})

// Tools.

test('a call, its result, and what the model receives', async () => {
  const { provider, received } = scripted(
    [text('Look: '), use('ok', {}, 0, 'call_1')],
    [text('Done')],
  )
  const { events, messages, outcome } = await run(provider, { tools: [ok] })
  assert.is(shape(events), 'token message tool tool_complete message token message')
  assert.is(outcome.steps, 2)
  assert.equal(
    messages.map(message => message.id),
    ['m1', 'm2', 'm3'],
  )
  assert.equal(received[1]?.messages.slice(1), [
    {
      role: 'assistant',
      content: 'Look: ',
      tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'ok', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'call_1', name: 'ok', content: '"fine"' },
  ])
  assert.is(received[0]?.tools[0]?.name, 'ok')
  assert.match(JSON.stringify(received[0]?.tools[0]?.parameters), '"type":"object"')
})

test('runs reads in parallel, other calls alone, results in source order', async () => {
  const first = gate()
  const order: string[] = []
  const slow = tool(
    'slow',
    async () => {
      order.push('slow starts')
      await first.opened
      return { content: 'slow' }
    },
    'read',
  )
  const quick = tool(
    'quick',
    () => {
      order.push('quick runs')
      first.open()
      return { content: 'quick' }
    },
    'read',
  )
  const late = tool('late', () => {
    order.push('late runs')
    return { content: 'late' }
  })
  const { messages, events } = await run(
    scripted([use('slow', {}, 0), use('quick', {}, 1), use('late', {}, 2)], [text('x')]).provider,
    { tools: [slow, quick, late] },
  )
  assert.equal(order, ['slow starts', 'quick runs', 'late runs'])
  assert.equal(
    messages.slice(1, 4).map(message => message.content),
    ['slow', 'quick', 'late'],
  )
  assert.is(
    shape(events),
    'message tool tool tool_complete tool_complete message message tool tool_complete message token message',
  )
})

test('reports unknown tools and broken arguments; three batches in a row end the turn', async () => {
  const wrong = [use('nope', {}), use('ok', '{broken', 1)]
  const turn = await run(scripted(wrong, [text('x')]).provider, { tools: [ok] })
  assert.match(String(turn.messages[1]?.content), 'ok')
  assert.match(String(turn.messages[2]?.content), 'JSON')
  assert.is(turn.outcome.status, 'finished')
  const lost = await run(scripted(wrong, wrong, wrong).provider, { tools: [ok] })
  assert.is(lost.outcome.status, 'failed')
  assert.is(lost.messages.length, 9)
})

test('repairs names, keeps equal calls, drops what came twice under one id, makes ids unique', async () => {
  const { messages } = await run(
    scripted(
      [
        use('functions.OK', {}, 0, 'call_0'),
        use('functions.ok:1', {}, 1, 'call_1'),
        use('ok<|channel|>commentary', {}, 2, 'call_1'),
      ],
      [use('ok', '', 0, 'call_0')],
      [text('x')],
    ).provider,
    { tools: [ok] },
  )
  assert.equal(
    messages[0]?.tool_calls?.map(call => [call.id, call.function.name]),
    [
      ['call_0', 'ok'],
      ['call_1', 'ok'],
    ],
  )
  assert.is(messages[3]?.tool_calls?.[0]?.id, 'call_m4_1')
  assert.is(messages[4]?.tool_call_id, 'call_m4_1')
})

test('approvals and questions carry the call they belong to', async () => {
  const asked: unknown[] = []
  const asking = tool(
    'asking',
    async ctx => {
      const choice = await ctx.approve({
        command: 'c',
        patternKeys: ['k'],
        description: 'd',
        cwd: '/',
      })
      return { content: `${choice} ${await ctx.clarify('which?', ['a', 'b'])}` }
    },
    'ask',
  )
  const { messages } = await run(scripted([use('asking', {}, 0, 'id1')], [text('x')]).provider, {
    tools: [asking],
    approve: async (ask, callId) => {
      asked.push([ask.command, callId])
      return 'once'
    },
    clarify: async (question, _, callId) => {
      asked.push([question, callId])
      return 'b'
    },
  })
  assert.is(messages[1]?.content, 'once b')
  assert.equal(asked, [
    ['c', 'id1'],
    ['which?', 'id1'],
  ])
})

test('at the step limit, one last call that may use no tool', async () => {
  const { provider, received } = scripted(
    [use('ok', {})],
    [use('ok', {})],
    [text('So far'), use('ok', {})],
  )
  const { outcome, messages } = await run(provider, { tools: [ok], maxSteps: 2 })
  assert.is(outcome.status, 'finished')
  assert.is(outcome.text, 'So far')
  assert.is(outcome.steps, 3)
  assert.equal(received[2]?.tools, received[0]?.tools)
  assert.is(received[2]?.toolChoice, 'none')
  assert.is(received[2]?.messages.at(-1)?.role, 'user')
  assert.is(messages.at(-1)?.tool_calls, undefined)
})

test('repairs an incomplete history before sending it', async () => {
  const calls = (id: string): WireMessage => ({
    role: 'assistant',
    content: '',
    tool_calls: [{ id, type: 'function', function: { name: 'ok', arguments: '' } }],
  })
  const { provider, received } = scripted([text('x')])
  await run(provider, {
    history: [
      { role: 'tool', tool_call_id: 'lost', content: 'orphan' },
      calls('a'),
      { role: 'user', content: 'and?' },
      calls('b'),
      { role: 'user', content: 'steer' },
      { role: 'tool', tool_call_id: 'b', content: 'late' },
    ],
  })
  assert.equal(
    received[0]?.messages.map(message => `${message.role} ${message.tool_call_id ?? ''}`.trim()),
    ['assistant', 'tool a', 'user', 'assistant', 'tool b', 'user'],
  )
})

// Stopping.

test('stopped before the start, while streaming, while waiting', async () => {
  const stop = new AbortController()
  const speaking = await run(
    scripted([text('half'), 'hang']).provider,
    { signal: stop.signal },
    () => stop.abort(),
  )
  assert.is(speaking.outcome.status, 'stopped')
  assert.is(speaking.outcome.failure, undefined)
  const before = await run(scripted([text('x')]).provider, { signal: stop.signal })
  assert.is(before.outcome.status, 'stopped')
  assert.is(before.outcome.steps, 0)
  const later = new AbortController()
  const waiting = await run(
    scripted([down]).provider,
    { signal: later.signal },
    () => queueMicrotask(() => later.abort()),
    waitOn(createTestClock()),
  )
  assert.is(waiting.outcome.status, 'stopped')
})

test('stopped while tools run: one result per call, also of those that hang', async () => {
  const stop = new AbortController()
  let late: (text: string) => void = () => {}
  const hanging = tool('hanging', ctx => {
    late = ctx.output
    queueMicrotask(() => stop.abort())
    return new Promise(() => {})
  })
  const { outcome, messages, events } = await run(
    scripted([use('hanging', {}, 0), use('ok', {}, 1), use('ok', { a: 1 }, 2)]).provider,
    { tools: [hanging, ok], signal: stop.signal },
  )
  assert.is(outcome.status, 'stopped')
  assert.equal(
    messages.slice(1).map(message => message.tool_call_id),
    ['c0', 'c1', 'c2'],
  )
  for (const message of messages.slice(1)) assert.match(String(message.content), 'Stopped')
  const count = events.length
  late('too late')
  assert.is(events.length, count)
})

test('stopped while a checkpoint is recorded: no change, no approval', async () => {
  const stop = new AbortController()
  const done: string[] = []
  const late = Promise.withResolvers<void>()
  const changing = tool('changing', async ctx => {
    try {
      await ctx.beforeChange?.(['/a'])
      done.push('changed')
    } catch {
      done.push('left')
    }
    try {
      await ctx.approve({ command: 'c', patternKeys: [], description: '', cwd: '/' })
    } catch {
      late.resolve()
    }
    return { content: 'x' }
  })
  const { outcome } = await run(scripted([use('changing', {})]).provider, {
    tools: [changing],
    signal: stop.signal,
    beforeChange: async () => stop.abort(),
    approve: async () => {
      done.push('asked')
      return 'once'
    },
  })
  assert.is(outcome.status, 'stopped')
  await late.promise
  assert.equal(done, ['left'])
})

test.run()
