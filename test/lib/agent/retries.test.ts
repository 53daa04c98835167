/** Retries: attempts, delays, and the streamed text of failed calls. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { ProviderFailure } from '../../../lib/agent/failure.ts'
import { finish, run, scripted, shape, text, thought } from './_run.ts'

const test = suite('retries')

const down = new ProviderFailure('network', 'down')

test('six attempts, announced, with doubling waits', async () => {
  const { outcome, events, waits, messages } = await run(
    scripted(...Array.from({ length: 6 }, () => [down])).provider,
  )
  assert.is(outcome.failure?.type, 'network')
  assert.is(shape(events), 'retry retry retry retry retry')
  assert.equal(waits, [2000, 4000, 8000, 16_000, 32_000])
  assert.is(messages.length, 0)
  assert.equal(events[0], {
    type: 'retry',
    messageId: 'm1',
    attempt: 1,
    attempts: 6,
    delayMs: 2000,
    message: 'down',
  })
})

test('uses the configured number of attempts, fewer for failures that rarely pass', async () => {
  const gone = new ProviderFailure('network', 'refused', { isUnreachable: true })
  for (const [failure, tries, made] of [
    [down, 1, 1],
    [down, 4, 4],
    [gone, undefined, 3],
    [new ProviderFailure('network', 'oops', { status: 500 }), undefined, 4],
    [new ProviderFailure('network', 'full', { status: 529 }), undefined, 6],
    [new ProviderFailure('rate_limit', 'slow', { status: 429 }), undefined, 4],
    [new ProviderFailure('rate_limit', 'slow', { status: 429, retryAfterMs: 9 }), undefined, 4],
    [gone, 8, 8],
  ] as const) {
    const { provider, received } = scripted(...Array.from({ length: 9 }, () => [failure]))
    await run(provider, tries === undefined ? {} : { maxAttempts: tries })
    assert.is(received.length, made)
  }
})

test('text and reasoning before a failure are void and streamed again', async () => {
  const silent = await run(scripted([thought('hm'), down], [text('x')]).provider)
  assert.is(shape(silent.events), 'reasoning retry token message')
  assert.is(silent.messages[0]?.reasoning, undefined)
  const spoken = await run(scripted([text('half'), down], [text('x')]).provider)
  assert.is(shape(spoken.events), 'token retry token message')
  assert.equal([spoken.outcome.text, spoken.messages.length], ['x', 1])
})

test('repeats only the failed part of a continued response', async () => {
  const { provider, received } = scripted(
    [thought('A'), text('one '), finish('length')],
    [text('tw'), down],
    [text('two'), finish('stop')],
  )
  const { events, messages } = await run(provider)
  assert.is(messages[0]?.content, 'one two')
  const said = events.slice(events.findIndex(({ type }) => type === 'retry') + 1)
  assert.equal(
    said.flatMap(event =>
      event.type === 'token' || event.type === 'reasoning' ? [event.text] : [],
    ),
    ['A', 'one ', 'two'],
  )
  assert.equal(received[2]?.messages.at(-2)?.content, 'one ')
})

test.run()
