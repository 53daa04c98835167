/** The closing messages of an interrupted turn. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { closingMessages } from '../../../lib/turns/interrupted-turn.ts'
import { LiveState } from '../../../lib/turns/live-turn.ts'
import { createTestClock } from '../../_clock.ts'

const test = suite('interrupted turn')
const AT = 5
const ends = { stopped: 'Stopped by the user.', note: '*Task cancelled.*' }

const retry = {
  type: 'retry',
  data: { message_id: 'm1', attempt: 2, attempts: 3, delay_ms: 0, message: 'busy' },
} as const
const message = (id: string, role: 'user' | 'assistant', content: string) =>
  ({ type: 'message', data: { message: { id, role, content } } }) as const
const token = (text: string) => ({ type: 'token', data: { message_id: 'm1', text } }) as const

const withCall = () => {
  const live = new LiveState(createTestClock(AT * 1_000))
  const call = {
    id: 'c1',
    type: 'function' as const,
    function: { name: 'terminal', arguments: '{}' },
  }
  const { data } = message('m1', 'assistant', '')
  live.apply({ type: 'message', data: { message: { ...data.message, tool_calls: [call] } } })
  live.apply({
    type: 'tool',
    data: { event_type: 'tool.started', tid: 'c1', name: 'terminal', preview: null, args: {} },
  })
  return live
}

test('partial text becomes a message without its thinking block', () => {
  const live = new LiveState(createTestClock(AT * 1_000))
  live.apply(token('<think>hm</think>Half a'))
  const [partial] = closingMessages(live, ends, AT)
  assert.equal(partial, {
    id: 'm1',
    role: 'assistant',
    content: 'Half a',
    _partial: true,
    timestamp: AT,
  })
})

test('text that a retry withdrew counts again when nothing followed', () => {
  const live = new LiveState(createTestClock(AT * 1_000))
  live.apply(token('before'))
  live.apply(retry)
  assert.is(closingMessages(live, ends, AT)[0]?.content, 'before')
  // After a restart the call has another id, and fails as well.
  live.apply(message('m2', 'user', 'steered'))
  live.apply({ ...retry, data: { ...retry.data, message_id: 'm3' } })
  assert.is(closingMessages(live, ends, AT)[0]?.content, 'before')
  live.apply(message('m3', 'assistant', 'whole'))
  assert.is(closingMessages(live, ends, AT)[0]?.content, ends.note)
})

test('an unanswered call gets a result with its partial output and the reason', () => {
  const live = withCall()
  live.apply({ type: 'tool_output', data: { tid: 'c1', text: 'half' } })
  const [result] = closingMessages(live, ends, AT)
  assert.is(result?.tool_call_id, 'c1')
  assert.equal(JSON.parse(String(result?.content)), {
    output: 'half',
    error: 'Stopped by the user.',
  })
})

test.run()
