/** The to-do list above the composer: turns without one first, then the latest list of the running turn. */
import { suite } from 'uvu'
import * as assert from 'uvu/assert'
import type { Message } from '../../../lib/schema/message.ts'
import { todosOfTurn } from '../../../public/features/plan/live-plan.tsx'

const test = suite('live plan')

let made = 0
const say = (role: Message['role'], content: string, name = ''): Message => ({
  id: `m${++made}`,
  role,
  content,
  ...(name && { name }),
})
const list = (...states: string[]) =>
  JSON.stringify({ todos: states.map((status, at) => ({ id: `${at}`, content: `${at}`, status })) })

test('a turn without a list, one of an earlier turn, and a failed call show nothing', () => {
  assert.equal(todosOfTurn([]), [])
  assert.equal(todosOfTurn([say('user', 'a'), say('tool', '{"output":"x"}', 'terminal')]), [])
  assert.equal(
    todosOfTurn([say('user', 'a'), say('tool', list('pending'), 'todo'), say('user', 'b')]),
    [],
  )
  assert.equal(todosOfTurn([say('user', 'a'), say('tool', '{"error":"no"}', 'todo')]), [])
})

test('the latest list of the turn counts, also when a later call failed', () => {
  const todos = todosOfTurn([
    say('user', 'a'),
    say('tool', list('pending', 'pending'), 'todo'),
    say('tool', list('completed', 'in_progress'), 'todo'),
    say('tool', '{"error":"no"}', 'todo'),
    say('assistant', 'working'),
  ])
  assert.equal(
    todos.map(({ status }) => status),
    ['completed', 'in_progress'],
  )
})

test.run()
