/** Recovery: attempts at the same endpoint first, fallbacks, and the failure when none is left. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ProviderFailure } from '../../../lib/agent/failure.ts'
import type { AgentRequest, ModelEndpoint, Recovery } from '../../../lib/agent/types.ts'
import { endpoint as endpointOf, finish, run, scripted, shape, text, use } from './_run.ts'

const test = suite('endpoint recovery')

const endpoint = (model: string) => endpointOf(1_000, { model })
const to = (model: string): Recovery => ({
  endpoint: endpoint(model),
  kind: 'fallback',
  message: `${model} goes on`,
})
const limited = () => new ProviderFailure('rate_limit', 'slow down')

/** Returns the given recoveries in order; `asked` holds the failure of each call. */
const standIns = (...left: Recovery[]) => {
  const asked: string[] = []
  const recover: NonNullable<AgentRequest['recovery']>['recover'] = async (failure, failed) => {
    asked.push(`${failed.model} ${failure.type}`)
    return left.shift() ?? null
  }
  return { asked, recover }
}

test('`recover` gets back the endpoint it returned, although its window was corrected', async () => {
  const denied = () => new ProviderFailure('auth_mismatch', 'no')
  const { provider, received } = scripted([denied()], [denied()], [denied()])
  const chain = [to('b'), to('c')]
  const failed: ModelEndpoint[] = []
  const { outcome } = await run(provider, {
    windows: {
      ask: async () => null,
      apply: given => ({ ...given, contextLength: 500 }),
      learn: () => undefined,
      noteRead: () => undefined,
    },
    recovery: {
      recover: async (_, endpoint) => {
        failed.push(endpoint)
        return chain[failed.length - 1] ?? null
      },
    },
  })
  assert.is(outcome.failure?.type, 'auth_mismatch')
  assert.ok(failed[1] === chain[0]?.endpoint && failed[2] === chain[1]?.endpoint)
  assert.is(received[1]?.endpoint.contextLength, 500)
})

test('with a fallback, makes only the attempts that are worthwhile', async () => {
  for (const attempts of [1, 2]) {
    const script = Array.from({ length: attempts }, () => [limited()])
    const { provider, received } = scripted(...script, [text('hi')])
    const { asked, recover } = standIns(to('b'))
    const failures: string[] = []
    const { outcome, waits, events } = await run(provider, {
      recovery: {
        recover,
        attemptLimit: (failure, { model }) => {
          failures.push(`${model} ${failure.type}`)
          return attempts
        },
      },
    })
    assert.is(outcome.status, 'finished')
    assert.is(outcome.model, 'b')
    assert.is(waits.length, attempts - 1)
    assert.is(failures[0], 'm rate_limit')
    assert.equal(asked, ['m rate_limit'])
    assert.equal(
      received.map(request => request.endpoint.model),
      [...script.map(() => 'm'), 'b'],
    )
    assert.is(shape(events), `${'retry '.repeat(attempts - 1)}warning token message`)
  }
})

test('reports a successful endpoint once, and again after a fallback', async () => {
  const use = {
    type: 'tool_call',
    index: 0,
    id: 'c',
    name: 'no_such_tool',
    arguments: '{}',
  } as const
  const { provider } = scripted([use], [use], [limited()], [text('done')])
  const { recover } = standIns(to('b'))
  const good: string[] = []
  const { outcome } = await run(provider, {
    recovery: {
      recover,
      attemptLimit: () => 1,
      onEndpointSuccess: ({ model }) => void good.push(model),
    },
  })
  assert.is(outcome.status, 'finished')
  assert.equal(good, ['m', 'b'])
})

test('never sends provider state to another address, even under the same name', async () => {
  const item = { type: 'thinking', signature: 'private' }
  const { provider, received } = scripted(
    [{ type: 'provider_state', item }, use('none', {}), finish('tool_calls')],
    [limited()],
    [text('hi')],
  )
  const elsewhere = { ...to('m'), endpoint: { ...endpoint('m'), baseUrl: 'http://elsewhere' } }
  const { recover } = standIns(elsewhere)
  const { outcome } = await run(provider, { recovery: { recover, attemptLimit: () => 1 } })
  assert.is(outcome.status, 'finished')
  assert.match(JSON.stringify(received[1]?.messages), 'private')
  assert.not.match(JSON.stringify(received[2]?.messages), 'private')
})

test.run()
