/** Subagents: limits, isolated failures, stopping, approvals from any depth, usage. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ProviderFailure } from '../../../lib/agent/failure.ts'
import { delegate } from '../../../lib/agent/tools/delegate.ts'
import type {
  Provider,
  ProviderDelta,
  ProviderRequest,
  Tool,
  TraceEntry,
} from '../../../lib/agent/types.ts'
import { toolOf, finish, run, text, use } from './_run.ts'

const test = suite('subagents')

const tool = (name: string, run: Tool['run'], kind: Tool['kind'] = 'execute') =>
  toolOf(name, run, { kind })
const ok = tool('ok', () => ({ content: '"fine"' }))
const delegating = delegate as unknown as Tool
const depth = (maxDepth: number) => ({ depth: 0, maxDepth, maxSteps: 5 })

/** Responds by the content of the conversation, so that parallel subagents need no order. */
const answering = (
  reply: (goal: string, request: ProviderRequest, round: number) => (ProviderDelta | Error)[],
) => {
  const received: ProviderRequest[] = []
  const provider: Provider = async function* (request) {
    received.push(structuredClone({ ...request, signal: null }) as unknown as ProviderRequest)
    const first = request.messages.find(({ role }) => role === 'user')
    const round = request.messages.filter(({ role }) => role === 'assistant').length
    for (const one of reply(String(first?.content), request, round)) {
      if (one instanceof Error) throw one
      yield one
    }
  }
  return { provider, received }
}

const resultsOf = (content: unknown) =>
  (
    JSON.parse(String(content)) as {
      results: {
        task_index: number
        status: string
        summary: string
        exit_reason: string
        api_calls: number
        error?: string
        tokens: { input: number; output: number }
        tool_trace: TraceEntry[]
      }[]
    }
  ).results

const request = (maxDepth = 1, tools: Tool[] = [delegating, ok]) => ({
  tools,
  delegation: depth(maxDepth),
})

test('a stop reaches every subagent, whose text stays out of the transcript', async () => {
  const controller = new AbortController()
  let hanging = 0
  const provider: Provider = async function* ({ messages, signal }) {
    const goal = messages.find(({ role }) => role === 'user')?.content
    if (goal === 'hello') {
      yield use('delegate_task', { tasks: [{ goal: 'a' }, { goal: 'b' }, { goal: 'c' }] })
      return
    }
    yield text('half')
    await new Promise((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason))
      if (++hanging === 3) controller.abort(new Error('cancelled'))
    })
  }
  const { outcome, messages } = await run(provider, {
    ...request(),
    signal: controller.signal,
  })
  assert.is(outcome.status, 'stopped')
  assert.equal(
    messages.map(({ role }) => role),
    ['assistant', 'tool'],
  )
  assert.ok(resultsOf(messages[1]?.content).every(({ status }) => status === 'interrupted'))
})

// Input and output.

test('a subagent gets its goal, its context, fewer tools and its own steps; nothing of it is recorded', async () => {
  const never = ['clarify', 'memory', 'execute_code'].map(name =>
    tool(name, () => ({ content: '""' })),
  )
  const { provider, received } = answering((goal, { tools }, round) => {
    if (goal === 'look')
      return tools.length > 0 ? [use('ok', {}, 0, `k${round}`)] : [text('so far')]
    return round === 0
      ? [use('delegate_task', { goal: 'look', context: 'In the cellar.', max_iterations: 2 })]
      : [text('end')]
  })
  const { messages, events } = await run(provider, {
    ...request(1, [delegating, ok, ...never]),
    system: 'You are the one.',
  })
  const child = received.find(({ messages: [system] }) => system?.content !== 'You are the one.')!
  assert.equal(
    child.tools.map(({ name }) => name),
    ['ok'],
  )
  assert.match(String(child.messages[0]?.content), 'In the cellar.')
  assert.equal(
    messages.map(({ role }) => role),
    ['assistant', 'tool', 'assistant'],
  )
  const [result] = resultsOf(messages[1]?.content)
  assert.equal(
    [result?.exit_reason, result?.api_calls, result?.summary],
    ['max_iterations', 3, 'so far'],
  )
  assert.equal(
    result?.tool_trace.map(({ tool: name, status }) => [name, status]),
    [
      ['ok', 'ok'],
      ['ok', 'ok'],
    ],
  )
  const nested = events.filter(event => 'owner' in event && event.owner)
  assert.ok(nested.length > 0)
  assert.ok(nested.every(event => 'owner' in event && event.owner?.parent === 'c0'))
  const ids = events.flatMap(event => (event.type === 'tool' ? [event.callId] : []))
  assert.equal(ids, ['c0', 'c0.0.k0', 'c0.0.k1'])
})

test('runs tasks in parallel, at most three at a time, across parallel calls', async () => {
  let together = 0
  let most = 0
  const { promise: full, resolve: isFull } = Promise.withResolvers<void>()
  const provider: Provider = async function* ({ messages }) {
    const goal = messages.find(({ role }) => role === 'user')?.content
    if (goal !== 'hello') {
      most = Math.max(most, ++together)
      if (together === 3) isFull()
      await full
      await new Promise(resolve => setImmediate(resolve))
      together--
      yield text(`${goal}`)
    } else if (messages.at(-1)?.role === 'tool') yield text('end')
    else {
      yield use('delegate_task', { tasks: [{ goal: 'a' }, { goal: 'b' }] }, 0)
      yield use('delegate_task', { tasks: [{ goal: 'c' }, { goal: 'd' }] }, 1)
    }
  }
  const { messages } = await run(provider, request())
  assert.is(most, 3)
  assert.equal(
    messages
      .filter(({ role }) => role === 'tool')
      .flatMap(({ content }) => resultsOf(content).map(({ summary }) => summary)),
    ['a', 'b', 'c', 'd'],
  )
})

test('an approval of a subagent at depth 3 is requested at the root, and depth 4 cannot be reached', async () => {
  const asked: string[] = []
  const danger = tool('danger', async ctx => {
    const choice = await ctx.approve({
      command: 'rm -rf x',
      patternKeys: ['recursive delete'],
      description: 'Deletes.',
      cwd: '/',
    })
    return { content: JSON.stringify({ choice }) }
  })
  const { provider, received } = answering((goal, _, round) => {
    if (round > 0) return [text(`${goal} done`)]
    const level = goal === 'hello' ? 0 : Number(goal)
    return level < 3 ? [use('delegate_task', { goal: `${level + 1}` })] : [use('danger', {})]
  })
  const { messages, events, outcome } = await run(provider, {
    ...request(3, [delegating, danger]),
    async approve(ask, callId) {
      asked.push(`${callId} ${ask.command}`)
      assert.match(ask.description, 'A subagent asks.')
      return 'once'
    },
  })
  assert.equal(asked, ['c0.0.c0.0.c0.0.c0 rm -rf x'])
  assert.is(outcome.text, 'hello done')
  const deepest = received.filter(({ tools }) =>
    tools.every(({ name }) => name !== 'delegate_task'),
  )
  assert.is(deepest.length, 2)
  // The whole tree can be rebuilt from the events, and from the result alone.
  const parents = events.flatMap(event =>
    event.type === 'subagent' && event.status === 'running' ? [event.owner.parent] : [],
  )
  assert.equal(parents, ['c0', 'c0.0.c0', 'c0.0.c0.0.c0'])
  const [first] = resultsOf(messages[1]?.content)
  assert.is(first?.tool_trace[0]?.trace?.[0]?.trace?.[0]?.tool, 'danger')
})

test('usage of subagents counts for the turn, even if it fails afterwards', async () => {
  const totals: number[] = []
  const used = (inputTokens: number): ProviderDelta => ({
    type: 'usage',
    inputTokens,
    outputTokens: 1,
  })
  const { provider } = answering((goal, _, round) => {
    if (goal === '1')
      return round === 0 ? [use('delegate_task', { goal: '2' }), used(20)] : [text('b'), used(30)]
    if (goal === '2') return [text('a'), used(400)]
    return round === 0
      ? [use('delegate_task', { goal: '1' }), used(1)]
      : [new ProviderFailure('auth_mismatch', 'no')]
  })
  const { outcome } = await run(provider, {
    ...request(2),
    onUsage: ({ input_tokens }) => totals.push(input_tokens),
  })
  assert.equal(totals, [1, 21, 421, 451])
  assert.equal(
    [outcome.status, outcome.usage.input_tokens, outcome.usage.output_tokens],
    ['failed', 451, 4],
  )
  assert.is(outcome.usage.last_prompt_tokens, 1)
})

test('checks the budget before each call, subagents included, and ends the turn within one call', async () => {
  let spent = 0
  const { provider, received } = answering((goal, _, round) => {
    const used: ProviderDelta = { type: 'usage', inputTokens: 10, outputTokens: 0 }
    if (goal === 'hello' && round === 0) return [use('delegate_task', { goal: '1' }), used]
    if (goal === '1' && round === 0) return [use('delegate_task', { goal: '2' }), used]
    return [use('ok', {}, 0, `k${round}`), used]
  })
  const { outcome } = await run(provider, {
    ...request(2),
    onUsage: ({ input_tokens }) => {
      spent = input_tokens
    },
    checkBudget: async () => (spent >= 40 ? 'This turn may use 40 tokens.' : null),
  })
  assert.is(received.length, 4)
  assert.equal(
    [outcome.failure?.type, outcome.failure?.message],
    ['budget_reached', 'This turn may use 40 tokens.'],
  )
})

test('warns the model, but not the transcript, at 70 and 90 percent of the steps', async () => {
  const { provider, received } = answering((_, { tools }, round) =>
    tools.length === 0 ? [text('end')] : [use('ok', {}, 0, `k${round}`)],
  )
  let times = 0
  const object = tool('ok', () => ({ content: JSON.stringify({ times: ++times }) }))
  const { messages } = await run(provider, { tools: [object], maxSteps: 10 })
  const lastMessages = received.map(({ messages: sent }) => String(sent.at(-1)?.content))
  const at = lastMessages.flatMap((content, index) =>
    content.includes('_budget_warning') ? [index] : [],
  )
  assert.equal(at, [7, 9])
  assert.match(lastMessages[7]!, 'Step 7 of 10')
  assert.ok(messages.every(({ content }) => !String(content).includes('warning')))
})

for (const reason of ['content_filter', 'length'] as const)
  test(`a parent reads that the answer of its subagent was not finished: ${reason}`, async () => {
    let isAskedForMore = false
    const { provider } = answering((goal, _, round) => {
      if (goal !== 'half')
        return round === 0 ? [use('delegate_task', { goal: 'half' })] : [text('end')]
      const said = isAskedForMore ? [] : [text('Half of')]
      isAskedForMore = true
      return [...said, finish(reason)]
    })
    const { messages, events } = await run(provider, request())
    const [result] = resultsOf(messages[1]?.content)
    assert.ok(result?.summary.startsWith('Half of') && result.summary.length > 10)
    assert.not.ok(events.some(({ type }) => type === 'warning'))
  })

test.run()
