/** Time travel on the page: which recorded point belongs to a step, and the list of files. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Message } from '../../../lib/schema/message.ts'
import { linesOf } from '../../../public/features/time-travel/past-files.tsx'
import { pastOfCall, pointsOf } from '../../../public/features/time-travel/points.ts'
import type { TurnChange } from '../../../public/features/workspace/turn-changes.ts'

const test = suite('time travel')

const calls = (...ids: string[]) =>
  ids.map(id => ({
    id,
    type: 'function' as const,
    function: { name: 'terminal', arguments: '{}' },
  }))
const result = (id: string): Message => ({
  ...{ id: `r${id}`, role: 'tool', content: '{}', tool_call_id: id },
})
const messages: Message[] = [
  { id: 'm1', role: 'user', content: 'Go' },
  { id: 'm2', role: 'assistant', content: '', tool_calls: calls('c1', 'c2') },
  result('c1'),
  result('c2'),
  { id: 'm5', role: 'assistant', content: 'Halfway.', tool_calls: calls('c3') },
  result('c3'),
  { id: 'm7', role: 'assistant', content: 'Done.' },
  { id: 'm8', role: 'user', content: 'Again' },
]
const step = (...ids: string[]) => ({ calls: ids, at: 1, files: ['a'] })
const record = (more: Partial<TurnChange>): TurnChange => ({
  ...{ checkpoint: 'f', session_id: 's', message_id: 'm1', title: '', workspace: '/w', at: 1 },
  ...{ ended_at: 2, undo_of: null, interrupted: false, notes: [], files: [], truncated: false },
  ...{ file_count: 0, added: 0, removed: 0, steps: [step('c2'), step('c3')] },
  ...more,
})
const pointOf = (call: string, more: Partial<TurnChange> = {}) => {
  const { change, point, isWhole } = pastOfCall('s', messages, [record(more)], call)
  return [change !== null, point, isWhole]
}

test('finds no point for unknown calls and turns without a record', () => {
  assert.equal(pointOf('none', { message_id: null, steps: [] }), [false, 'after', false])
  assert.equal(pointOf('c1', { message_id: 'm8' }), [false, 'after', false])
  assert.equal(pointOf('c1', { undo_of: 'e' }), [false, 'after', false])
  const old = record({})
  delete old.steps
  assert.equal(pastOfCall('s', messages, [old], 'c1').isWhole, true)
  assert.equal(pointsOf(old), ['before', 'after'])
})

test('a step shows the last change that is not after it', () => {
  assert.equal(pointOf('c1'), [true, 'before', false])
  assert.equal(pointOf('c2'), [true, 'c2', false])
  assert.equal(pointOf('c3', { steps: [step('c2')] }), [true, 'c2', false])
  // The step of the call may have been lost with the server.
  assert.equal(pointOf('c3', { steps: [step('c2')], interrupted: true }), [true, 'after', true])
  assert.equal(pointOf('c2', { steps: [step('c2')], interrupted: true }), [true, 'c2', false])
  assert.equal(pointsOf(record({})), ['before', 'c2', 'c3', 'after'])
})

test('the list has directories first and the files of open ones', () => {
  const files = ['b.txt', 'src/z.ts', 'src/in/a.ts'].map(path => ({ path, state: 'same' as const }))
  const shown = (...open: string[]) =>
    linesOf(files, new Set(open)).map(({ depth, name }) => `${depth} ${name}`)
  assert.equal(shown(), ['0 src', '0 b.txt'])
  assert.equal(shown('src/in'), ['0 src', '0 b.txt'])
  assert.equal(shown('src', 'src/in'), ['0 src', '1 in', '2 a.ts', '1 z.ts', '0 b.txt'])
})

test.run()
