/** Updates for a client that reads slowly: order, merging, and the end of the connection. */
import type { SessionUpdate } from '@agentclientprotocol/sdk'
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import { Outbox } from '../../../lib/cli/acp/outbox.ts'
import { gate } from '../../_provider.ts'

const test = suite('cli/acp/outbox')

const chunk = (text: string, messageId = 'm1', isThought = false): SessionUpdate => ({
  sessionUpdate: isThought ? 'agent_thought_chunk' : 'agent_message_chunk',
  messageId,
  content: { type: 'text', text },
})
const output = (text: string, toolCallId = 'c1'): SessionUpdate => ({
  sessionUpdate: 'tool_call_update',
  toolCallId,
  content: [{ type: 'content', content: { type: 'text', text } }],
})
const done: SessionUpdate = {
  sessionUpdate: 'tool_call_update',
  toolCallId: 'c1',
  status: 'completed',
}

test('merges what waits, keeps the order, and never merges across messages, calls, or results', async () => {
  const taken: SessionUpdate[] = []
  const hold = gate()
  const outbox = new Outbox(async update => {
    taken.push(update)
    await hold.opened
  })
  const pushed = [
    chunk('first'),
    chunk('a'),
    chunk('b'),
    chunk('c', 'm2'),
    chunk('d', 'm2', true),
    output('1'),
    output('2'),
    output('x', 'c2'),
    output('3'),
    done,
    chunk('e'),
  ]
  for (const update of pushed) outbox.push(update)
  assert.equal(taken, [chunk('first')])
  hold.open()
  await outbox.whenSent()
  assert.equal(taken, [
    chunk('first'),
    chunk('ab'),
    chunk('c', 'm2'),
    chunk('d', 'm2', true),
    output('2'),
    output('x', 'c2'),
    output('3'),
    done,
    chunk('e'),
  ])
})

test('drops updates once the client is gone', async () => {
  let sends = 0
  const outbox = new Outbox(async () => {
    sends += 1
    throw new Error('EPIPE')
  })
  outbox.push(chunk('a'))
  outbox.push(chunk('b', 'm2'))
  await outbox.whenSent()
  outbox.push(chunk('c'))
  await outbox.whenSent()
  assert.is(sends, 1)
})

test.run()
