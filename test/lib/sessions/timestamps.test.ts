/** Messages without a time, as another program wrote them, get that of the next turn that ends. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { NEW, openBench, say } from './_sessions.ts'
import { emptyUsage } from '../../../lib/schema/usage.ts'

const test = suite('sessions/timestamps')

test('when a turn completes, and not before; a time that is there stays', async () => {
  await using bench = openBench()
  const messages = [
    { role: 'user' as const, content: 'a' },
    { role: 'assistant' as const, content: 'b', timestamp: 77 },
    { role: 'user' as const, content: 'c' },
    { role: 'assistant' as const, content: 'd' },
  ]
  const { session_id: id } = bench.sessions.adopt(null, NEW, messages)
  const times = async () => {
    const whole = JSON.parse((await bench.sessions.wholeJson(id)).toString())
    const pages = [
      ...bench.sessions.tail(id, { limit: 2, before: 'm4' }).messages,
      ...bench.sessions.tail(id, { limit: 10 }).messages.slice(2),
    ]
    const loaded = bench.sessions.load(id).messages
    const of = (all: { timestamp?: number }[]) => all.map(({ timestamp }) => timestamp ?? null)
    assert.equal(of(whole), of(loaded))
    assert.equal(of(pages), of(loaded))
    return of(loaded)
  }
  assert.equal(await times(), [null, 77, null, null])
  const stream_id = 's'.repeat(32)
  const started = { t: 'turn_started' as const, stream_id, model: 'm', provider: 'p' }
  const [, , ended] = bench.sessions.append(id, [
    say('e'),
    { ...started, message_id: 'm6' },
    { t: 'turn_ended', stream_id, how: 'done', usage: emptyUsage },
  ])
  const at = Math.floor(ended!.at)
  const [first, second, third, fourth] = await times()
  assert.equal([first, second, third, fourth], [at, 77, at, at])
  await bench.restart()
})

test.run()
